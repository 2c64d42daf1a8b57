"""How wrongly scores order the submissions of each reviewer: the official loss, its interval, a proxy without ratings.

n ratings, R reviewers, k versions of the profiles, S submissions, P papers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

DRAWS = 10_000  # of the bootstrap
EXPERT, NOVICE = 4.0, 2.0  # a pair is easy if one is rated so at least and the other at most


@dataclass(frozen=True)
class Ratings:
    """Reviewer, submission and expertise of every rating."""

    reviewer_n: np.ndarray
    submission_n: np.ndarray
    expertise_n: np.ndarray
    R: int

    @classmethod
    def of(cls, ratings: Sequence[tuple[int, int, float]], R: int) -> Ratings:
        reviewer, submission, expertise = zip(*ratings, strict=True)
        return cls(np.array(reviewer), np.array(submission), np.array(expertise, np.float64), R)

    def of_scores(self, score_SR: np.ndarray) -> np.ndarray:
        """What a table of scores says of every rating (n)."""
        return score_SR[self.submission_n, self.reviewer_n]

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Places of two ratings by one reviewer, each pair once."""
        first, second = np.triu_indices(len(self.reviewer_n), 1)
        same = self.reviewer_n[first] == self.reviewer_n[second]
        return first[same], second[same]

    def weight_R(self) -> np.ndarray:
        """What all pairs of a reviewer would cost (R)."""
        return costs(self, np.zeros(len(self.reviewer_n)))[1]


def costs(ratings: Ratings, score_n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each reviewer (R): what the wrongly ordered pairs cost, and what all pairs would.

    A pair costs the difference of its ratings if the scores order it the other way round, and half of it if they are
    equal.
    """
    first, second = ratings.pairs()
    gap = ratings.expertise_n[first] - ratings.expertise_n[second]
    order = np.sign(score_n[first] - score_n[second])
    wrong = np.where(order == 0, 0.5, order * np.sign(gap) < 0)
    owner = ratings.reviewer_n[first]
    return np.bincount(owner, np.abs(gap) * wrong, ratings.R), np.bincount(owner, np.abs(gap), ratings.R)


def loss(cost_R: np.ndarray, weight_R: np.ndarray) -> float:
    return float(cost_R.sum() / weight_R.sum())


def pairs_right(ratings: Ratings, score_n: np.ndarray) -> dict[str, float]:
    """The share of easy and of hard pairs that are ordered rightly; equal scores are wrong."""
    first, second = ratings.pairs()
    a, b = ratings.expertise_n[first], ratings.expertise_n[second]
    right = np.sign(score_n[first] - score_n[second]) * np.sign(a - b) > 0
    easy = (np.maximum(a, b) >= EXPERT) & (np.minimum(a, b) <= NOVICE)
    hard = (np.minimum(a, b) >= EXPERT) & (a != b)
    return {name: float(right[kind].mean()) for name, kind in (("easy", easy), ("hard", hard)) if kind.any()}


def resampled(cost_R: np.ndarray, weight_R: np.ndarray) -> np.ndarray:
    """The loss over reviewers drawn with replacement, the same draws for whatever is judged."""
    R = len(weight_R)
    drawn = np.random.default_rng(0).integers(0, R, (DRAWS, R))
    return cost_R[drawn].sum(1) / weight_R[drawn].sum(1)


def interval(values: np.ndarray) -> tuple[float, float]:
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)


def own_above_others(score_PR: np.ndarray, own_PR: np.ndarray) -> float:
    """The proxy: how often a reviewer's own paper is scored above one that is not, in per cent, mean over reviewers."""
    found = []
    for score_P, own_P in zip(score_PR.T, own_PR.T, strict=True):
        own, other = score_P[own_P], score_P[~own_P]
        if len(own) and len(other):
            found.append(((own[:, None] > other) + 0.5 * (own[:, None] == other)).mean())
    return 100 * float(np.mean(found)) if found else 50.0
