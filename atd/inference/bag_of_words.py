"""Vectors of texts read as bags of words: every word is predicted from x alone, whatever stands before it.

Without contexts r = W_fk c is the same everywhere, and the logits are W_fvᵀ M x plus what x does not change, where
M = diag(r) W_fd + W_fa. One Newton step from x = 0, the average text, then needs no more of a text of n words than the
sum of their rows of W_fv:

    x = (l2·I + n·Mᵀ Σ M)⁻¹ Mᵀ Σ_t (W_fv[w_t] − μ),    μ and Σ the mean and covariance of rows under x = 0.

What the model knows of word order is left out. Where x stands for what a text is about, as topics are, that is no loss.

n texts, D attribute dim, F factors, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from atd.attributes import CentredTable
from atd.errors import AtdError
from atd.inference.preconditioner import Preconditioner
from atd.lm import MultiplicativeLM
from atd.vocabulary import UNK_ID


@torch.no_grad()
def bag_of_words(
    model: MultiplicativeLM, tokens: Tensor, offsets: Tensor, *, l2: float = 1.0, language: int = 0
) -> Tensor:
    """x of every text of the flat `tokens`, bounded by `offsets` (n×D). Unknown words do not count."""
    if l2 <= 0:
        raise AtdError(f"l2 must be positive, got {l2}: it is what makes the vector of a text unique")
    r_F = model.constant()
    if r_F is None or not isinstance(model.attributes, CentredTable):
        raise AtdError("a bag of words needs a model in which x = 0 is the average text; the paper's is none")
    W_VF, b_V = model.output(language)
    D = model.L.shape[1]
    h_F = model.condition(r_F, r_F.new_zeros(D))
    M_DF = model.condition(r_F.expand(D, -1), torch.eye(D).to(r_F)) - h_F
    p_V = torch.softmax(W_VF @ h_F + b_V, 0)
    mean_F = p_V @ W_VF
    covariance_FF = (W_VF * p_V[:, None]).T @ W_VF - torch.outer(mean_F, mean_F)

    known = (tokens != UNK_ID).to(W_VF)
    rows_nF, count_n = (
        functional.embedding_bag(tokens, table, offsets[:-1], mode="sum", per_sample_weights=known)
        for table in (W_VF, torch.ones_like(b_V)[:, None])
    )
    slope_nD = (rows_nF - count_n * mean_F) @ M_DF.T
    return Preconditioner.of(M_DF @ covariance_FF @ M_DF.T).apply(slope_nD, l2, count_n[:, 0])
