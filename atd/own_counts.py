"""A memory above another model: what each attribute's own text says word for word.

    P(w | h, a) = (1 − λ_a) Q(w | h, a) + λ_a O_a(w | h)

Q is the other model, say the multiplicative one with the vector of a. O_a counts the n-grams of a's own text and has
Q(w | h, a) as its floor, so that where that text says nothing Q alone speaks. A vector is too short to hold names,
links and turns of phrase; counts hold nothing else.

B examples, N words of a context, V vocabulary, A attributes.
"""

from __future__ import annotations

import numpy as np

from atd.ngram import KneserNey
from atd.ngram_groups import Groups
from atd.ngram_mixture import shares


class OwnCounts:
    """Kneser–Ney n-grams of every attribute; until `tune` every λ is a half."""

    def __init__(self, V: int, A: int, order: int = 3):
        self.A = A
        self.own = KneserNey(V, order)
        self.share_A = np.full(A, 0.5)  # λ

    @property
    def N(self) -> int:
        """Words of context that it needs."""
        return self.own.order - 1

    def fit(self, context_BN: np.ndarray, target_B: np.ndarray, attribute_B: np.ndarray) -> OwnCounts:
        self.own.fit(context_BN, target_B, attribute_B, self.A)
        self.groups = Groups(self.own, self.A)
        return self

    def tune(
        self, context_BN: np.ndarray, target_B: np.ndarray, attribute_B: np.ndarray, log_q_B: np.ndarray
    ) -> OwnCounts:
        """Find the λ that make held-out text likeliest; `log_q_B` is what Q gives its words under their attribute."""
        q_B = np.exp(log_q_B)
        own_B = self.own.probabilities(context_BN, target_B, attribute_B, q_B)
        self.share_A = shares(q_B, own_B, attribute_B, self.A)
        return self

    def over(self, context_BN: np.ndarray, target_B: np.ndarray, log_q_BA: np.ndarray) -> np.ndarray:
        """log P(target | context, a) under every attribute (B×A), from log Q."""
        q_BA = np.exp(log_q_BA)
        own_BA = self.groups.probabilities(context_BN, target_B, q_BA)
        return np.log(q_BA + self.share_A * (own_BA - q_BA))
