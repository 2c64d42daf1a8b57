"""Ranking losses: a sentence must lie nearer to its translation than to other sentences.

B pairs, K dim, n contrastive sentences. `a_BK` and `b_BK` are sentence vectors of unit norm, row i of one the
translation of row i of the other, so ‖a − b‖² = 2 − 2 a·b. Every loss is the mean over pairs.

- hinge, the paper's:  Σ_k max(0, α + ‖a − b‖² − ‖a − c_k‖²), c_k given, n = 5
- hardest:  the same with the n nearest wrong sentences of the batch as c_k, in both directions
- softmax:  −log exp(a·b/τ) / Σ_j exp(a·b_j/τ) over the batch, in both directions
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

LOSSES = ("hinge", "hardest", "softmax")


def hinge(a_BK: Tensor, b_BK: Tensor, wrong_Bn: Tensor, alpha: float = 1.0) -> Tensor:
    """`wrong_Bn` has the cosines a·c_k, of `turned` or `cosines`."""
    right_B1 = (a_BK * b_BK).sum(1, keepdim=True)
    return (alpha - 2 * right_B1 + 2 * wrong_Bn).clamp(min=0).sum(1).mean()


def cosines(a_BK: Tensor, c_BnK: Tensor) -> Tensor:
    """a·c_k, with n sentences given for each pair (B×n)."""
    return torch.einsum("bk,bnk->bn", a_BK, c_BnK)


def turned(a_BK: Tensor, b_BK: Tensor, n: int, generator: torch.Generator | None = None) -> Tensor:
    """a·c_k, with the batch turned by n different random steps for the c_k (B×n).

    Batches are drawn anew every epoch, so this assigns contrastive sentences at random at no extra cost. A turned batch
    is two pieces of b: rows that are looked up one by one take twice as long, with their gradient.
    """
    steps = 1 + torch.randperm(max(len(b_BK) - 1, 1), generator=generator)[:n]
    return torch.stack([(a_BK * b_BK.roll(-step, 0)).sum(1) for step in steps.tolist()], 1)


def hardest(a_BK: Tensor, b_BK: Tensor, n: int, alpha: float = 1.0) -> Tensor:
    cosine = a_BK @ b_BK.T
    right = cosine.diagonal()
    wrong = cosine - 3 * torch.eye(len(cosine), device=cosine.device)  # below every cosine
    n = min(n, len(cosine) - 1)
    losses = [
        (alpha - 2 * right[:, None] + 2 * side.topk(n, 1, sorted=False).values).clamp(min=0).sum(1).mean()
        for side in (wrong, wrong.T)
    ]
    return (losses[0] + losses[1]) / 2


def softmax(a_BK: Tensor, b_BK: Tensor, temperature: float = 0.1) -> Tensor:
    scores = a_BK @ b_BK.T / temperature
    target = torch.arange(len(scores), device=scores.device)
    return (functional.cross_entropy(scores, target) + functional.cross_entropy(scores.T, target)) / 2


def precision_at_1(a_nK: Tensor, b_mK: Tensor, target_n: Tensor | None = None) -> float:
    """Per cent of rows of a whose nearest row of b is the right one (row i, unless `target` says otherwise)."""
    target = torch.arange(len(a_nK)) if target_n is None else target_n
    found = torch.cat([(part @ b_mK.T).argmax(1).cpu() for part in a_nK.split(1024)])
    return 100 * float((found == target).float().mean())
