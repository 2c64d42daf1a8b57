"""What each column tells that the others do not: held-out text under the vectors that the other columns alone predict.

Without a column, a text's x is the best linear guess from the columns that are left: a least-squares fit over the
training text. So if one column follows from the others, leaving it out changes nothing, and it is said to add nothing.

n documents, A attributes, D attribute dim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from atd.attributes import Blend
from atd.design import Design
from atd.encoded import EncodedCorpus
from atd.least_squares import fitted
from atd.lm import ConditionedModel
from atd.trained import Trained

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from datamodules.corpus import Corpus

Part = tuple[int, tuple[int, ...]]  # a term, and the places of its columns that are kept
ROWS = 65536  # documents at once
RIDGE = 1e-6  # of the words of all text: ties between columns that say the same are broken


@dataclass(frozen=True)
class Left:
    """Something left out of a design, and the parts of it that are then known."""

    name: str
    kept: Sequence[Part]


def leavings(design: Design) -> list[Left]:
    """Every column left out, where there are several; then every interaction, where there are other terms."""
    whole: list[Part] = [(t, tuple(range(len(term)))) for t, term in enumerate(design.terms)]
    found = []
    for q, column in enumerate(design.columns):
        if len(design.columns) > 1:
            parts = [(t, tuple(j for j, one in enumerate(term) if one != q)) for t, term in enumerate(design.terms)]
            found.append(Left(column.name, distinct([part for part in parts if part[1]], design)))
    for t, term in enumerate(design.terms):
        if len(term) > 1 and len(design.terms) > 1:
            name = " and ".join(design.columns[q].name for q in term)
            found.append(Left(f"the interaction of {name}", [part for part in whole if part[0] != t]))
    return found


def distinct(parts: Sequence[Part], design: Design) -> list[Part]:
    """Of parts that keep the same columns, the first."""
    by_columns = {tuple(design.terms[t][j] for j in places): (t, places) for t, places in reversed(parts)}
    return list(reversed(by_columns.values()))


def indicators(texts: EncodedCorpus, design: Design, kept: Sequence[Part]) -> csr_matrix:
    """Which of the known combinations every text has, with their shares (n×combinations)."""
    from scipy.sparse import csr_matrix, hstack

    ids_nM = texts.attributes.reshape(len(texts), -1)
    shares_nM = np.ones(ids_nM.shape) if texts.shares is None else texts.shares
    first_T = np.searchsorted(design.term_A, np.arange(len(design.terms)))
    blocks = []
    for t, places in kept:
        known, number = np.unique(design.combinations[t][:, places], axis=0, return_inverse=True)
        rows, columns = np.nonzero(design.term_A[ids_nM] == t)
        combination = number.reshape(-1)[ids_nM[rows, columns] - first_T[t]]
        blocks.append(csr_matrix((shares_nM[rows, columns], (rows, combination)), (len(texts), len(known))))
    return hstack(blocks, "csr") if blocks else csr_matrix((len(texts), 0))


@torch.inference_mode()
def full_vectors(model: ConditionedModel, texts: EncodedCorpus) -> np.ndarray:
    """The x of every document (n×D)."""
    ids = torch.from_numpy(texts.attributes.astype(np.int64))
    if ids.dim() == 1:
        return model.vectors()[ids].numpy()
    shares = None if texts.shares is None else torch.from_numpy(np.array(texts.shares))
    parts = torch.arange(len(ids)).split(ROWS)
    return torch.cat([model.attributes(ids[p] if shares is None else Blend(ids[p], shares[p])) for p in parts]).numpy()


def guessed_vectors(model: ConditionedModel, data: Corpus, left: Left) -> np.ndarray:
    """The x of every test document as far as the columns that are left tell it (n×D)."""
    train, test = data.encoded["train"], data.encoded["test"]
    design = train.design
    seen, asked = (indicators(texts, design, left.kept) for texts in (train, test))
    if not seen.shape[1]:
        return np.zeros((len(test), model.vectors().shape[1]))
    words_n = train.lengths.astype(np.float64)
    return np.asarray(asked @ fitted(seen, words_n, full_vectors(model, train), RIDGE * words_n.sum()))


@torch.inference_mode()
def losses_under(trained: Trained, data: Corpus, x_nD: np.ndarray) -> np.ndarray:
    """The summed exact nll of each test document, each under its own x (n)."""
    texts = data.encoded["test"]
    numbered = replace(texts, attributes=np.arange(len(texts), dtype=np.int32), shares=None)
    x = torch.from_numpy(x_nD.astype(np.float32))
    losses = [
        trained.model.nll(batch.context, batch.target, x[batch.ids], batch.language, reduction="none")
        for batch in data.batches(numbered, shuffle=False)
    ]
    return np.bincount(texts.owner, torch.cat(losses).double().numpy(), len(texts))
