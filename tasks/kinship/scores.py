"""How well vectors of languages know who is related: nearest neighbours, trees, and how sure these scores are.

n languages, D length of a vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from datamodules.readers.world import Language
from tasks.kinship.trees import edges_of, neighbour_joining, quartet_distance, resolved_quartets, splits, upgma

ROOT = "the root of all families"
FEWEST = 5  # languages of a family, and quartets of it that the tree resolves, for it to be looked at alone
OF_FAMILY = 20_000  # quartets of one family, at most


@dataclass(frozen=True)
class Truth:
    """What is known of some languages."""

    languages: Sequence[Language]
    most: int  # quartets

    @cached_property
    def families(self) -> np.ndarray:
        return np.array([language.family for language in self.languages])

    @cached_property
    def branches(self) -> np.ndarray:
        return np.array([language.branch for language in self.languages])

    @cached_property
    def edges(self) -> np.ndarray:
        return edges_of([(ROOT, *language.path, language.iso) for language in self.languages])

    @cached_property
    def quartets(self) -> tuple[np.ndarray, np.ndarray]:
        """Quartets that the tree resolves, and how."""
        chosen = resolved_quartets(self.edges, self.most)
        return chosen, splits(self.edges, chosen)

    @cached_property
    def of_families(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The same within every family of some size."""
        found = []
        for family in np.unique(self.families):
            rows = np.flatnonzero(self.families == family)
            if len(rows) >= FEWEST:
                chosen = rows[resolved_quartets(self.edges[np.ix_(rows, rows)], OF_FAMILY, 20232)]
                if len(chosen) >= FEWEST:
                    found.append((chosen, splits(self.edges, chosen)))
        return found

    def take(self, rows: np.ndarray) -> Truth:
        return Truth([self.languages[i] for i in rows], self.most)


def similarity(x_nD: np.ndarray, centred: bool) -> np.ndarray:
    """Cosines (n×n), of vectors as they are or less their mean."""
    x_nD = np.asarray(x_nD, np.float64)
    return of_gram(x_nD @ x_nD.T, centred)


def of_gram(gram_nn: np.ndarray, centred: bool) -> np.ndarray:
    """The same from products of vectors."""
    gram_nn = np.asarray(gram_nn, np.float64)
    if centred:
        mean_n = gram_nn.mean(0)
        gram_nn = gram_nn - mean_n - mean_n[:, None] + mean_n.mean()
    size_n = np.sqrt(np.maximum(np.diag(gram_nn), 1e-300))
    return gram_nn / size_n / size_n[:, None]


def scores(similar_nn: np.ndarray, truth: Truth) -> dict[str, float]:
    """Relatives found in per cent, and quartets resolved otherwise as shares."""
    distance_nn = np.clip(1 - similar_nn, 0, None)
    np.fill_diagonal(distance_nn, 0)
    distance_nn = (distance_nn + distance_nn.T) / 2
    tree = upgma(distance_nn)
    inside = [quartet_distance(tree, *of) for of in truth.of_families]
    return neighbours(similar_nn, truth) | {
        "gqd": quartet_distance(tree, *truth.quartets),
        "gqd_nj": quartet_distance(neighbour_joining(distance_nn), *truth.quartets),
        "gqd_within": float(np.mean(inside)) if inside else float("nan"),
    }


def neighbours(similar_nn: np.ndarray, truth: Truth) -> dict[str, float]:
    """Per cent of the languages with a relative whose most similar language is one."""
    other_nn = similar_nn.copy()
    np.fill_diagonal(other_nn, -np.inf)
    nearest_n = other_nn.argmax(1)
    return {
        "family_accuracy": agreement(truth.families, nearest_n),
        "branch_accuracy": agreement(truth.branches, nearest_n),
    }


def agreement(group_n: np.ndarray, nearest_n: np.ndarray) -> float:
    _, which, size = np.unique(group_n, return_inverse=True, return_counts=True)
    counted = size[which] > 1
    return 100 * float((group_n[nearest_n] == group_n)[counted].mean()) if counted.any() else float("nan")


def chance(group_n: np.ndarray) -> float:
    """The expected agreement of a neighbour drawn at random."""
    _, which, size = np.unique(group_n, return_inverse=True, return_counts=True)
    own = size[which]
    return 100 * float(((own - 1) / (len(group_n) - 1))[own > 1].mean()) if (own > 1).any() else float("nan")


def noise(similar_nn: np.ndarray, truth: Truth, subsets: int) -> dict[str, float]:
    """Standard deviations of the scores over random nine tenths of the languages; the similarities stay as they are."""
    if subsets < 2:  # one has no deviation
        return {}
    rng = np.random.default_rng(5)
    n = len(similar_nn)
    parts = [np.sort(rng.permutation(n)[: round(0.9 * n)]) for _ in range(subsets)]
    found = [scores(similar_nn[np.ix_(rows, rows)], truth.take(rows)) for rows in parts]
    return {name: float(np.std([one[name] for one in found], ddof=1)) for name in found[0]}
