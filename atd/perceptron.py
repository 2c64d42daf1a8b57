"""The averaged multi-class perceptron of the cross-lingual protocol (Klementiev et al. 2012).

N examples, K features, C classes. Ten epochs over one fixed shuffle, no bias: a mistake on x of class y taken for p
adds x to row y and takes it from row p. The answer is the mean of the weights after every one of the 10·N steps.
"""

from __future__ import annotations

import numpy as np

from atd.errors import AtdError

BLOCK = 128  # examples scored at once


class AveragedPerceptron:
    """`fit` then `predict`. Classes may be any labels; a tie goes to the class that sorts first.

    Steps depend on one another, yet most of them change nothing. So a block is scored in one product and the scan
    jumps from mistake to mistake, mending the scores ahead by the block's inner products: exact, and a few products
    instead of N.
    """

    def __init__(self, epochs: int = 10, seed: int = 0):
        self.epochs, self.seed = epochs, seed
        self.classes: np.ndarray
        self.weights: np.ndarray  # C×K

    def fit(self, x_NK: np.ndarray, labels_N: np.ndarray, shuffle: bool = True) -> AveragedPerceptron:
        x_NK = np.asarray(x_NK, dtype=np.float64)
        self.classes, y_N = np.unique(np.asarray(labels_N), return_inverse=True)
        if len(x_NK) != len(y_N) or not len(y_N):
            raise AtdError(f"the perceptron needs one label per example, got {len(x_NK)} and {len(y_N)}")
        if shuffle:
            order = np.random.default_rng(self.seed).permutation(len(y_N))
            x_NK, y_N = x_NK[order], y_N[order]
        W = np.zeros((len(self.classes), x_NK.shape[1]))
        late = np.zeros_like(W)  # each change times the number of steps before it
        for epoch in range(self.epochs):
            for start in range(0, len(y_N), BLOCK):
                rows = slice(start, start + BLOCK)
                self._scan(x_NK[rows], y_N[rows], W, late, epoch * len(y_N) + start)
        self.weights = W - late / (self.epochs * len(y_N))
        return self

    @staticmethod
    def _scan(x_bK: np.ndarray, y_b: np.ndarray, W: np.ndarray, late: np.ndarray, steps: int) -> None:
        scores, inner = x_bK @ W.T, x_bK @ x_bK.T
        i = 0
        while True:
            taken = scores[i:].argmax(1)
            wrong = taken != y_b[i:]
            if not wrong.any():
                return
            first = int(wrong.argmax())
            i, p = i + first, taken[first]
            y, x = y_b[i], x_bK[i]
            for row, sign in ((y, 1.0), (p, -1.0)):
                W[row] += sign * x
                late[row] += sign * (steps + i) * x
                scores[:, row] += sign * inner[:, i]
            i += 1

    def scores(self, x_NK: np.ndarray) -> np.ndarray:
        return np.asarray(x_NK, dtype=np.float64) @ self.weights.T

    def predict(self, x_NK: np.ndarray) -> np.ndarray:
        return self.classes[self.scores(x_NK).argmax(1)]

    def score(self, x_NK: np.ndarray, labels_N: np.ndarray) -> float:
        """Accuracy between 0 and 1."""
        return float((self.predict(x_NK) == np.asarray(labels_N)).mean())
