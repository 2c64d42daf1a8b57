"""A reader who knows the books: a classifier that learned from real text, and judges whose style a sample has.

n pieces of text, T words of a piece, V vocabulary, A books.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atd.ragged import Ragged, offsets_of
from atd.vocabulary import UNK_ID

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

BIGRAMS = 2**17  # buckets for pairs of neighbouring words


class Reader:
    """Tells from tf-idf of words and word pairs, by a softmax over the books, who wrote a piece of text."""

    def __init__(self, V: int, seed: int = 0):
        from sklearn.feature_extraction.text import TfidfTransformer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        self.V = V
        self.seed = seed
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
        """The likeliest label of every piece (n)."""
        return self.model.predict(features(ids_nT, self.V))


def features(ids_nT: np.ndarray, V: int) -> csr_matrix:
    """Counts of words and of hashed word pairs, one row per piece."""
    from scipy.sparse import csr_matrix

    n, T = ids_nT.shape
    ids = ids_nT.astype(np.int64)
    pairs = V + (ids[:, :-1] * 1_000_003 + ids[:, 1:]) % BIGRAMS
    columns = np.concatenate([ids, pairs], axis=1).ravel()
    rows = np.repeat(np.arange(n), 2 * T - 1)
    return csr_matrix((np.ones(len(columns), np.float32), (rows, columns)), shape=(n, V + BIGRAMS))


def pieces(texts: Ragged, label: np.ndarray, words: int) -> tuple[np.ndarray, np.ndarray]:
    """All whole pieces of `words` known words within texts: (ids n×T, the label of each piece's text n)."""
    known = texts.tokens != UNK_ID
    tokens, owner = texts.tokens[known], texts.owner[known]
    count = np.bincount(owner, minlength=len(texts))
    starts = offsets_of(count)[:-1]
    first = np.concatenate([s + words * np.arange(c // words) for s, c in zip(starts, count, strict=True)]).astype(int)
    return tokens[first[:, None] + np.arange(words)], label[owner[first]]


def evenly(label: np.ndarray, most: int) -> np.ndarray:
    """Places of at most `most` of each label, spread evenly over all of its own."""
    chosen = []
    for a in np.unique(label):
        where = np.flatnonzero(label == a)
        chosen.append(where[np.linspace(0, len(where) - 1, min(most, len(where))).astype(int)])
    return np.sort(np.concatenate(chosen))


def confusion(label_n: np.ndarray, predicted_n: np.ndarray, A: int) -> np.ndarray:
    """Per cent of each label's pieces (rows) attributed to each label (columns)."""
    table = np.zeros((A, A))
    np.add.at(table, (label_n, predicted_n), 1.0)
    return 100 * table / np.maximum(table.sum(1, keepdims=True), 1)
