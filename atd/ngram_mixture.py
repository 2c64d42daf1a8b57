"""Kneser–Ney n-grams that know a text's attributes: those of all text, mixed with those of each attribute's own text.

P₀ is the model of all text. Column m of a text's attributes has the value a, and

    P_m(w | h, a) = (1 − λ_a) P_{m−1}(w | h) + λ_a O_a(w | h),

where O_a counts the text of the value a alone and has P_{m−1}(w | h) as its floor, so that a value without text changes
nothing. λ_a is found by EM on held-out text, drawn towards the λ of all values by PRIOR words of it.

B examples, N words of a context, V vocabulary, M attributes of one text, A values of attributes.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from atd.ngram import KneserNey
from atd.ngram_groups import Groups

PRIOR = 100  # words of held-out text that the common λ counts for
ITERATIONS = 50  # of EM


class AttributeKneserNey:
    """`order` of all models; attribute ids are below A, one per example (B) or several (B×M), of values unlike."""

    def __init__(self, V: int, A: int, order: int = 5):
        self.A = A
        self.all = KneserNey(V, order)
        self.own: list[KneserNey] = []  # M
        self.share_MA = np.zeros((0, A))  # λ

    def fit(self, context_BN: np.ndarray, target_B: np.ndarray, attribute: np.ndarray) -> AttributeKneserNey:
        """Count; until `tune` every λ is a half."""
        self.all.fit(context_BN, target_B)
        self.own = []
        vars(self).pop("groups", None)  # of text counted before
        for value_B in columns(attribute):
            model = KneserNey(self.all.V, self.all.order, self.all.start)
            self.own.append(model.fit(context_BN, target_B, value_B, self.A))
        self.share_MA = np.full((len(self.own), self.A), 0.5)
        return self

    def tune(self, context_BN: np.ndarray, target_B: np.ndarray, attribute: np.ndarray) -> AttributeKneserNey:
        """Find the shares λ that make held-out text likeliest, a column after the other."""
        p_B = self.all.probabilities(context_BN, target_B)
        for m, value_B in enumerate(columns(attribute)):
            own_B = self.own[m].probabilities(context_BN, target_B, value_B, p_B)
            self.share_MA[m] = shares(p_B, own_B, value_B, self.A)
            p_B += self.share_MA[m, value_B] * (own_B - p_B)
        return self

    def log_probabilities(self, context_BN: np.ndarray, target_B: np.ndarray, attribute: np.ndarray) -> np.ndarray:
        """log P_M(target | context, attributes), in nats (B)."""
        p_B = self.all.probabilities(context_BN, target_B)
        for model, share_A, value_B in zip(self.own, self.share_MA, columns(attribute), strict=True):
            own_B = model.probabilities(context_BN, target_B, value_B, p_B)
            p_B += share_A[value_B] * (own_B - p_B)
        return np.log(p_B)

    def under_every(self, context_BN: np.ndarray, target_B: np.ndarray) -> np.ndarray:
        """log P(target | context, a) under every value a, where a text has one attribute (B×A)."""
        (share_A,) = self.share_MA
        p_B = self.all.probabilities(context_BN, target_B)
        own_BA = self.groups.probabilities(context_BN, target_B, p_B)
        return np.log(p_B[:, None] + share_A * (own_BA - p_B[:, None]))

    @cached_property
    def groups(self) -> Groups:
        """The own text of all values of one attribute, arranged by n-gram."""
        (model,) = self.own
        return Groups(model, self.A)

    def distributions(self, context_BN: np.ndarray, attribute: np.ndarray) -> np.ndarray:
        """P_M(· | context, attributes) of every context (B×V)."""
        p_BV = self.all.distributions(context_BN)
        for model, share_A, value_B in zip(self.own, self.share_MA, columns(attribute), strict=True):
            own_BV = model.distributions(context_BN, value_B, p_BV)
            p_BV += share_A[value_B, None] * (own_BV - p_BV)
        return p_BV

    def perplexity(self, context_BN: np.ndarray, target_B: np.ndarray, attribute: np.ndarray) -> float:
        return float(np.exp(-self.log_probabilities(context_BN, target_B, attribute).mean()))


def columns(attribute: np.ndarray) -> np.ndarray:
    """Attribute ids, B or B×M, a column after the other (M×B)."""
    return attribute.reshape(len(attribute), -1).T


def shares(p_B: np.ndarray, own_B: np.ndarray, value_B: np.ndarray, A: int) -> np.ndarray:
    """λ_a for every value a (A): where (1 − λ) p + λ own is largest on the words of a, with the common λ as prior."""
    words_A = np.bincount(value_B, minlength=A)
    common = 0.5
    for _ in range(ITERATIONS):
        common = float(responsibility(p_B, own_B, common).mean())
    share_A = np.full(A, common)
    for _ in range(ITERATIONS):
        taken_A = np.bincount(value_B, responsibility(p_B, own_B, share_A[value_B]), A)
        share_A = (taken_A + PRIOR * common) / (words_A + PRIOR)
    return share_A


def responsibility(p_B: np.ndarray, own_B: np.ndarray, share: np.ndarray | float) -> np.ndarray:
    """How likely each word was drawn from its own model (B)."""
    own_B = share * own_B
    return own_B / (own_B + (1 - share) * p_B)
