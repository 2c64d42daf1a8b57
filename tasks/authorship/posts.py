"""The posts to attribute, and the vectors that word vectors make of them; and controls, which know the tuple alone.

n posts, K word dim, F factors, D attribute dim, A attributes, V vocabulary, H columns of a table of word vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from atd.ragged import Ragged
from atd.vocabulary import UNK_ID
from datamodules.encode import ids
from tasks.learning.tfidf import counts

if TYPE_CHECKING:
    import pyarrow as pa
    from scipy.sparse import csr_matrix

    from atd.lm import LogBilinearLM, MultiplicativeLM
    from datamodules.blogs import Blogs

RANDOM_GATE, RANDOM_VECTOR = "random-gate", "random-vector"


@dataclass
class Written:
    """What the prolific authors wrote, none of which a language model has seen."""

    text: pa.ChunkedArray
    words: Ragged  # their ids in the vocabulary of the language models
    author: np.ndarray
    tuples: list[str]  # of the author of every post, such as female/10s/student


@dataclass
class Posts:
    """What a fold is scored on. `attribute` is the id of the author's tuple among `x_AD`; the predictor learns it."""

    counts: csr_matrix  # n × tokens as written
    author: np.ndarray
    attribute: np.ndarray
    x_AD: np.ndarray  # the model's vector of every attribute
    vectors: Mapping[str, np.ndarray]  # n×K document vectors by row name; the same in every fold


def read_written(data: Blogs) -> Written:
    table = data.prolific_posts()
    tokens = data.tokeniser.folded(table["text"])
    words = Ragged(ids(tokens, data.vocabulary), tokens.offsets)
    return Written(table["text"], words, table["author"].to_numpy(), table["attribute"].to_pylist())


def posts_of(written: Written, atd: MultiplicativeLM, lbl: LogBilinearLM, names: Sequence[str], seed: int) -> Posts:
    """The posts with their document vectors; `names` are those of the model's attributes."""
    known, x_AD = with_unseen(names, written.tuples, atd.vectors().detach())
    index = {name: i for i, name in enumerate(known)}
    attribute = np.array([index[name] for name in written.tuples])
    vectors = document_vectors(atd, lbl, written.words, x_AD, attribute, seed)
    return Posts(counts(written.text), written.author, attribute, x_AD.numpy(), vectors)


def with_unseen(names: Sequence[str], tuples: Sequence[str], x_AD: Tensor) -> tuple[list[str], Tensor]:
    """Names and vectors, with those tuples that no training author has: the mean of their gender and age group."""
    unseen = sorted(set(tuples) - set(names))
    rows = []
    for missing in unseen:
        alike = [i for i, name in enumerate(names) if name.split("/")[:2] == missing.split("/")[:2]]
        rows.append(x_AD[alike or slice(None)].mean(0))
    return [*names, *unseen], torch.cat([x_AD, *(row[None] for row in rows)])


@torch.inference_mode()
def document_vectors(
    atd: MultiplicativeLM, lbl: LogBilinearLM, texts: Ragged, x_AD: Tensor, attribute: np.ndarray, seed: int
) -> dict[str, np.ndarray]:
    """Sums of word vectors to unit norm: of R, of W_fvᵀ W_fk, and of W_fvᵀ diag(W_fd x) W_fk with each post's own x.

    Beside them two controls that know the tuple of a post and nothing of what the model has learned of tuples: the
    same sums with `random_gates`, and a random vector for each tuple.
    """
    random = torch.Generator().manual_seed(seed)
    own = torch.from_numpy(attribute)
    factors_nF = bags(atd.W_fv, texts)
    gate_AF = atd.gate(x_AD)
    sums = {
        "lbl": bags(lbl.R, texts),
        "unconditioned": factors_nF @ atd.W_fk,
        "conditioned": (factors_nF * gate_AF[own]) @ atd.W_fk,
        RANDOM_GATE: (factors_nF * random_gates(gate_AF, random)[own]) @ atd.W_fk,
        RANDOM_VECTOR: torch.randn(len(x_AD), atd.W_fk.shape[1], generator=random)[own],
    }
    return {name: functional.normalize(v, dim=1).numpy() for name, v in sums.items()}


def random_gates(gate_AF: Tensor, random: torch.Generator) -> Tensor:
    """The gates of each factor dealt anew to the attributes: the same numbers, and no meaning."""
    deal_AF = torch.rand(gate_AF.shape, generator=random).argsort(0)
    return gate_AF.gather(0, deal_AF)


@torch.inference_mode()
def bags(W_VH: Tensor, texts: Ragged) -> Tensor:
    """The sum of the rows of W of each text's words (n×H); unknown words have no part in it."""
    weight = torch.from_numpy((texts.tokens != UNK_ID).astype(np.float32)).to(W_VH.dtype)
    tokens, offsets = texts.flat
    return functional.embedding_bag(tokens, W_VH.detach(), offsets[:-1], mode="sum", per_sample_weights=weight)
