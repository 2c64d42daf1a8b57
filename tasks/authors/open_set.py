"""None of these? How likely it is that any of the known authors wrote a text.

A regression is shown validation texts twice: as they are, and with the column of their true author struck out, which is
how a text looks whose author is not among those known. No author has to be left out of training for that.

n texts, A authors.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.special import log_softmax

LIKELIHOODS = ("atd", "kneser-ney-characters", "kneser-ney-words")


class OpenSet:
    """P(one of these wrote it), from how far the likeliest author stands out."""

    def fit(
        self, scores: Mapping[str, np.ndarray], log_p_nA: np.ndarray, words_n: np.ndarray, label_n: np.ndarray
    ) -> OpenSet:
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        with_own = features(scores, log_p_nA, words_n)
        without = features(*struck(scores, log_p_nA, label_n), words_n)
        known = np.repeat([1, 0], [len(with_own), len(without)])
        self.regression = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        self.regression.fit(np.concatenate([with_own, without]), known)
        return self

    def known(self, scores: Mapping[str, np.ndarray], log_p_nA: np.ndarray, words_n: np.ndarray) -> np.ndarray:
        """The probability that one of the authors wrote each text (n)."""
        if not len(words_n):
            return np.zeros(0)
        return self.regression.predict_proba(features(scores, log_p_nA, words_n))[:, 1]


def features(scores: Mapping[str, np.ndarray], log_p_nA: np.ndarray, words_n: np.ndarray) -> np.ndarray:
    """How sure the mixture is, and how far the best score of each row lies above the others; of likelihoods, a word."""
    found = [log_p_nA.max(1), lead(log_p_nA), np.log(np.maximum(words_n, 1))]
    for name, s_nA in scores.items():
        per = np.maximum(words_n, 1) if name in LIKELIHOODS else 1.0
        found += [(s_nA.max(1) - s_nA.mean(1)) / per, lead(s_nA) / per]
    return np.stack(found, 1)


def lead(s_nA: np.ndarray) -> np.ndarray:
    """How far the best author lies before the second; 0 where there is no second (n)."""
    if s_nA.shape[1] < 2:
        return np.zeros(len(s_nA))
    second, best = np.partition(s_nA, -2, axis=1)[:, -2:].T
    return best - second


def struck(
    scores: Mapping[str, np.ndarray], log_p_nA: np.ndarray, label_n: np.ndarray
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The same without every text's true author."""
    n, A = log_p_nA.shape
    others = np.flatnonzero((np.arange(A) != label_n[:, None]).ravel())
    left = {name: s_nA.ravel()[others].reshape(n, A - 1) for name, s_nA in scores.items()}
    return left, log_softmax(log_p_nA.ravel()[others].reshape(n, A - 1), axis=1)


def area(known_n: np.ndarray, strangers_n: np.ndarray) -> float:
    """Under the curve: how often a text by a known author has the higher probability of the two."""
    from sklearn.metrics import roc_auc_score

    truth = np.repeat([1, 0], [len(known_n), len(strangers_n)])
    return float(roc_auc_score(truth, np.concatenate([known_n, strangers_n])))
