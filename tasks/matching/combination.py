"""Several scores as one: a weighted sum, its weights learned from held-out papers of reviewers' own, not from ratings.

M scores, T papers, R reviewers, k versions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def standard(score_TR: np.ndarray) -> np.ndarray:
    """Each reviewer's scores with mean 0 and deviation 1: only their order says anything."""
    score_TR = score_TR - score_TR.mean(0)
    return score_TR / np.maximum(score_TR.std(0), 1e-12)


def weights(held: Sequence[np.ndarray], own_TR: np.ndarray) -> np.ndarray:
    """Of a logistic regression that tells a reviewer's own papers from others' (M); they sum to 1 in size."""
    from sklearn.linear_model import LogisticRegression

    features = np.stack([standard(score_TR).ravel() for score_TR in held], 1)
    weight_M = LogisticRegression(C=1.0).fit(features, own_TR.ravel()).coef_[0]
    return weight_M / max(np.abs(weight_M).sum(), 1e-12)


def combined(scores: Sequence[np.ndarray], weight_M: np.ndarray) -> np.ndarray:
    """The weighted sum of one table of each score (T×R)."""
    return np.sum([w * standard(score_TR) for w, score_TR in zip(weight_M, scores, strict=True)], axis=0)
