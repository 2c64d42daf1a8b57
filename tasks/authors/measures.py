"""How good attributions are, and how true their probabilities.

n texts, A authors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.learning.calibration import calibration_error

ROUNDS = 2000  # of the bootstrap


def measures(log_p_nA: np.ndarray, label_n: np.ndarray) -> dict[str, float]:
    """Accuracies, the error of calibration, all in per cent, and the mean nats that the true author costs."""
    right_n = log_p_nA.argmax(1) == label_n
    return {
        "accuracy": 100 * float(right_n.mean()),
        "macro_accuracy": 100 * macro(right_n, label_n),
        "calibration_error": 100 * calibration_error(log_p_nA, label_n),
        "nats": -float(log_p_nA[np.arange(len(label_n)), label_n].mean()),
    }


def macro(right_n: np.ndarray, label_n: np.ndarray) -> float:
    """The mean over authors of the share of their texts that is attributed rightly."""
    counts = np.bincount(label_n)
    hits = np.bincount(label_n, right_n)
    return float((hits[counts > 0] / counts[counts > 0]).mean())


@dataclass(frozen=True)
class Difference:
    """Of two macro accuracies, in per cent, with a 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+z.2f} ({self.low:+z.2f} to {self.high:+z.2f})"


def difference(ours_n: np.ndarray, theirs_n: np.ndarray, label_n: np.ndarray) -> Difference:
    """By how much more ours is right, the mean over authors; a paired bootstrap over the texts of each."""
    random = np.random.default_rng(0)
    gain_n = ours_n.astype(float) - theirs_n
    drawn = []
    for a in np.unique(label_n):
        own = gain_n[label_n == a]
        drawn.append(own[random.integers(0, len(own), (ROUNDS, len(own)))].mean(1))
    low, high = np.quantile(np.mean(drawn, axis=0), [0.025, 0.975])
    mean = np.mean([gain_n[label_n == a].mean() for a in np.unique(label_n)])
    return Difference(100 * float(mean), 100 * float(low), 100 * float(high))
