"""How true probabilities are: of what is said to be so sure, what share is right?

n texts, A classes.
"""

from __future__ import annotations

import numpy as np

BINS = 15  # of the calibration error


def reliability(log_p_nA: np.ndarray, label_n: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of texts whose likeliest class has a probability in one of BINS ranges: (mean of it, share right, texts)."""
    p_n = np.exp(log_p_nA.max(1))
    right_n = log_p_nA.argmax(1) == label_n
    bin_n = np.minimum((p_n * BINS).astype(int), BINS - 1)
    texts = np.bincount(bin_n, minlength=BINS)
    some = texts > 0
    sure, right = (np.bincount(bin_n, values, BINS)[some] / texts[some] for values in (p_n, right_n))
    return sure, right, texts[some]


def calibration_error(log_p_nA: np.ndarray, label_n: np.ndarray) -> float:
    """The expected calibration error: how far probability and share right lie apart, over all texts."""
    sure, right, texts = reliability(log_p_nA, label_n)
    return float((np.abs(sure - right) * texts).sum() / texts.sum())
