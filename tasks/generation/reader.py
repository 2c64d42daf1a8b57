"""Style, measured: whose vector explains a held-out text best, and who a reader of counts takes a sample for.

B windows, A attributes, D attribute dim, N context, n pieces of text, T words of a piece, V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from rich.progress import track
from torch import Tensor

from atd.vocabulary import UNK_ID

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from atd.lm import NextWordModel

BIGRAMS = 2**17  # buckets for pairs of neighbouring words


@torch.inference_mode()
def perplexity_matrix(
    model: NextWordModel, context_BN: Tensor, target_B: Tensor, attribute_B: Tensor, x_AD: Tensor
) -> np.ndarray:
    """Exact perplexity of every attribute's text (rows) under every attribute's vector (columns)."""
    nll = np.zeros((len(x_AD), len(x_AD)))
    for j, x in enumerate(track(x_AD, "perplexity of all texts under all vectors")):
        for rows in torch.arange(len(target_B)).split(512):
            x_BD = x.expand(len(rows), -1)
            losses = model.nll(context_BN[rows], target_B[rows], x_BD, reduction="none")
            np.add.at(nll[:, j], attribute_B[rows].numpy(), losses.double().numpy())
    return np.exp(nll / np.bincount(attribute_B, minlength=len(x_AD))[:, None])


def evenly(attribute_B: np.ndarray, most: int) -> np.ndarray:
    """Indices of at most `most` windows per attribute, spread evenly over its text."""
    chosen = []
    for a in np.unique(attribute_B):
        where = np.flatnonzero(attribute_B == a)
        chosen.append(where[np.linspace(0, len(where) - 1, min(most, len(where))).astype(int)])
    return np.sort(np.concatenate(chosen))


def pieces(
    tokens: np.ndarray, offsets: np.ndarray, document_label: np.ndarray, words: int
) -> tuple[np.ndarray, np.ndarray]:
    """All whole pieces of `words` known words, within documents: (ids n×T, label n)."""
    document = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    known = tokens != UNK_ID
    tokens, document = tokens[known], document[known]
    counts = np.bincount(document, minlength=len(offsets) - 1)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    first = np.concatenate([s + words * np.arange(c // words) for s, c in zip(starts, counts, strict=True)]).astype(int)
    return tokens[first[:, None] + np.arange(words)], document_label[document[first]]


def features(ids_nT: np.ndarray, V: int) -> csr_matrix:
    """Counts of words and of hashed word pairs, one row per piece."""
    from scipy.sparse import csr_matrix

    n, T = ids_nT.shape
    ids = ids_nT.astype(np.int64)
    pairs = V + (ids[:, :-1] * 1_000_003 + ids[:, 1:]) % BIGRAMS
    columns = np.concatenate([ids, pairs], axis=1).ravel()
    rows = np.repeat(np.arange(n), 2 * T - 1)
    return csr_matrix((np.ones(len(columns), np.float32), (rows, columns)), shape=(n, V + BIGRAMS))


class Reader:
    """A classifier that learned from real text who wrote what: tf-idf of words and word pairs, then softmax."""

    def __init__(self, V: int, seed: int = 0):
        from sklearn.feature_extraction.text import TfidfTransformer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        self.V, self.seed = V, seed
        self.model = make_pipeline(TfidfTransformer(sublinear_tf=True), LogisticRegression(C=30, max_iter=60, tol=1e-3))

    def fit(self, ids_nT: np.ndarray, label_n: np.ndarray, most: int = 400) -> Reader:
        """Learn from at most `most` random pieces of each label, so that a long book is not the usual guess."""
        shuffled = np.random.default_rng(self.seed).permutation(len(label_n))
        keep = shuffled[np.sort(evenly(label_n[shuffled], most))]
        weight = len(keep) / np.bincount(label_n[keep])[label_n[keep]]
        self.model.fit(
            features(ids_nT[keep], self.V), label_n[keep], logisticregression__sample_weight=weight / weight.mean()
        )
        return self

    def log_prob(self, ids_nT: np.ndarray) -> np.ndarray:
        """log P(label | piece), n×A."""
        return self.model.predict_log_proba(features(ids_nT, self.V))

    def predict(self, ids_nT: np.ndarray) -> np.ndarray:
        return self.model.predict(features(ids_nT, self.V))


def confusion(label_n: np.ndarray, predicted_n: np.ndarray, A: int) -> np.ndarray:
    """Per cent of each label's pieces (rows) attributed to each label (columns)."""
    table = np.zeros((A, A))
    np.add.at(table, (label_n, predicted_n), 1.0)
    return 100 * table / np.maximum(table.sum(1, keepdims=True), 1)
