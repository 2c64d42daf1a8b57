"""The count-based baseline: an add-k trigram that backs off to bigram, unigram and uniform.

p(w | u v) = (c(u v w) + k·p(w | v)) / (c(u v) + k), and likewise down to the uniform distribution. The prior
mass k goes to the shorter context instead of evenly to all words, which is far stronger than plain add-k.
"""

from __future__ import annotations

import numpy as np


class Trigram:
    """Counts of all n-grams up to three as sorted integer keys; probabilities of whole arrays at once."""

    def __init__(self, V: int, k: float = 1.0):
        self.V, self.k = V, k
        self.tables: list[tuple[np.ndarray, np.ndarray]] = []
        self.contexts: list[tuple[np.ndarray, np.ndarray]] = []

    def fit(self, context_BN: np.ndarray, target_B: np.ndarray) -> Trigram:
        """Count the targets after the last two, one and no words of their contexts."""
        self.tables, self.contexts = [], []
        for order in range(3):
            history = self._history(context_BN, order)
            self.contexts.append(np.unique(history, return_counts=True))
            self.tables.append(np.unique(history * self.V + target_B, return_counts=True))
        return self

    def tune(self, context_BN: np.ndarray, target_B: np.ndarray, ks=(0.3, 1, 3, 10, 30, 100)) -> Trigram:
        """Set k to the value with the best likelihood on held-out text."""
        losses = []
        for self.k in ks:
            losses.append(-self.log_prob(context_BN, target_B).mean())
        self.k = ks[int(np.argmin(losses))]
        return self

    def log_prob(self, context_BN: np.ndarray, target_B: np.ndarray) -> np.ndarray:
        p = np.full(len(target_B), 1.0 / self.V)
        for order in range(3):
            history = self._history(context_BN, order)
            hits = _lookup(self.tables[order], history * self.V + target_B)
            total = _lookup(self.contexts[order], history)
            p = (hits + self.k * p) / (total + self.k)
        return np.log(p)

    def perplexity(self, context_BN: np.ndarray, target_B: np.ndarray) -> float:
        return float(np.exp(-self.log_prob(context_BN, target_B).mean()))

    def _history(self, context_BN: np.ndarray, order: int) -> np.ndarray:
        key = np.zeros(len(context_BN), dtype=np.int64)
        for column in range(context_BN.shape[1] - order, context_BN.shape[1]):
            key = key * self.V + context_BN[:, column]
        return key


def _lookup(table: tuple[np.ndarray, np.ndarray], keys: np.ndarray) -> np.ndarray:
    values, counts = table
    at = np.searchsorted(values, keys).clip(max=len(values) - 1)
    return np.where(values[at] == keys, counts[at], 0)
