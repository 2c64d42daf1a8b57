"""Grammar from vectors: features of languages of a family that taught nothing, and what is alike across families.

n languages, P features, D length of a vector.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

NEAREST = 10  # languages whose features are averaged
FEWEST = 20  # languages that a feature must be known of


def prediction(similar_nn: np.ndarray, feature_nP: np.ndarray, family_n: np.ndarray) -> float:
    """Accuracy in per cent, mean over features: each language by the nearest ones of other families.

    A feature counts as present from ½ on. Of every language at most NEAREST neighbours that know the feature vote.
    """
    foreign_nn = np.where(family_n[:, None] == family_n, -np.inf, similar_nn)
    order_nn = np.argsort(-foreign_nn, axis=1, kind="stable")
    found = []
    for present_n, known_n in features(feature_nP):
        guess_n = np.array([vote(present_n, order[known_n[order]], i, family_n) for i, order in enumerate(order_nn)])
        found.append((guess_n == present_n)[known_n].mean())
    return 100 * float(np.mean(found)) if found else float("nan")


def vote(present_n: np.ndarray, neighbours: np.ndarray, i: int, family_n: np.ndarray) -> bool:
    chosen = neighbours[family_n[neighbours] != family_n[i]][:NEAREST]
    return bool(len(chosen) and present_n[chosen].mean() >= 0.5)


def majority(feature_nP: np.ndarray, family_n: np.ndarray) -> float:
    """The same by what most languages of other families have."""
    found = []
    for present_n, known_n in features(feature_nP):
        guess = {
            family: present_n[known_n & (family_n != family)].mean() >= 0.5 for family in np.unique(family_n[known_n])
        }
        guess_n = np.array([guess.get(family, False) for family in family_n])
        found.append((guess_n == present_n)[known_n].mean())
    return 100 * float(np.mean(found)) if found else float("nan")


def features(feature_nP: np.ndarray):
    """(present, known) of every feature that is known of enough languages."""
    for value_n in feature_nP.T:
        known_n = np.isfinite(value_n)
        if known_n.sum() >= FEWEST:
            yield np.where(known_n, value_n, 0) >= 0.5, known_n


@dataclass(frozen=True)
class Pairs:
    """Pairs of languages of different families whose grammars can be compared. No pair of relatives is among them."""

    first: np.ndarray
    second: np.ndarray
    alike: np.ndarray  # the share of features in which the two agree

    @classmethod
    def of(cls, feature_nP: np.ndarray, family_n: np.ndarray) -> Pairs:
        alike, both = agreement(feature_nP)
        first, second = np.triu_indices(len(family_n), 1)
        foreign = (family_n[first] != family_n[second]) & (both[first, second] >= FEWEST)
        return cls(first[foreign], second[foreign], alike[first, second][foreign])

    def similarity(self, similar_nn: np.ndarray) -> np.ndarray:
        return similar_nn[self.first, self.second]


def across_families(similar_nn: np.ndarray, pairs: Pairs) -> float:
    """Rank correlation of two languages' similarity and of their grammars' agreement: the family is removed."""
    return correlation(pairs.similarity(similar_nn), pairs.alike)


def beyond(similar_nn: np.ndarray, known_nn: np.ndarray, pairs: Pairs) -> float:
    """The same with another similarity held fixed, a partial correlation: what the first knows that it does not."""
    one, other = pairs.similarity(similar_nn), pairs.similarity(known_nn)
    r, r_one, r_alike = correlation(one, pairs.alike), correlation(one, other), correlation(other, pairs.alike)
    return (r - r_one * r_alike) / max(((1 - r_one**2) * (1 - r_alike**2)) ** 0.5, 1e-12)


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    from scipy.stats import spearmanr

    return float(spearmanr(a, b)[0]) if len(a) > 2 else float("nan")


def agreement(feature_nP: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The share of features, known of both, that two languages agree in (n×n), and how many these are."""
    known_nP = np.isfinite(feature_nP).astype(float)
    value_nP = (np.nan_to_num(feature_nP) >= 0.5) * known_nP
    both_nn = known_nP @ known_nP.T
    yes_nn = value_nP @ value_nP.T
    no_nn = (known_nP - value_nP) @ (known_nP - value_nP).T
    return (yes_nn + no_nn) / np.maximum(both_nn, 1), both_nn
