"""A reviewer as several parts: his papers in groups by the directions of their vectors, the best of which counts.

P papers, T papers asked for, G groups of all reviewers, R reviewers, J groups of one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from tasks.matching.study import Profiles, Scorer

Group: TypeAlias = tuple[int, ...]  # papers that share a vector


def unit(x_nD: np.ndarray) -> np.ndarray:
    return x_nD / np.maximum(np.linalg.norm(x_nD, axis=1, keepdims=True), 1e-300)


def parts(x_PD: np.ndarray, own: Sequence[int], J: int) -> list[Group]:
    """Some papers in J groups by k-means of the directions of their vectors; fewer where there are few papers."""
    J = min(J, len(own))
    if J == 1:
        return [tuple(own)]
    from sklearn.cluster import KMeans

    part_n = KMeans(J, n_init=4, random_state=0).fit_predict(unit(x_PD[list(own)]))
    return [tuple(np.array(own)[part_n == j].tolist()) for j in np.unique(part_n)]


def by_parts(
    x_PD: Callable[[], np.ndarray], J: int, score_of: Callable[[np.ndarray, list[Group]], np.ndarray]
) -> Scorer:
    """`x_PD` gives the vectors that papers are grouped by; `score_of` papers and groups is T×G."""

    def score(profiles: Profiles, asked: np.ndarray) -> np.ndarray:
        found = [parts(x_PD(), own, J) for own in profiles]
        score_TG = score_of(asked, [group for groups in found for group in groups])
        ends = np.cumsum([len(groups) for groups in found])[:-1]
        return np.stack([part_TJ.max(1) for part_TJ in np.split(score_TG, ends, axis=1)], 1)

    return score
