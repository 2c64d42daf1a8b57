"""Trees of languages: inferred from similarities, and how many edges lie between their leaves.

n leaves. A tree is the matrix of edges between each two leaves (n×n), which is all that quartets ask for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


class Clusters:
    """Leaves joined step by step. Edges between leaves of different clusters are known once these are joined."""

    def __init__(self, n: int):
        self.edges_nn = np.zeros((n, n), np.int32)
        self.members = {i: (np.array([i]), np.array([0], np.int32)) for i in range(n)}  # leaves, their depths

    def join(self, a: int, b: int, new: int) -> None:
        (leaves_a, depth_a), (leaves_b, depth_b) = self.members.pop(a), self.members.pop(b)
        between = depth_a[:, None] + depth_b + 2
        self.edges_nn[np.ix_(leaves_a, leaves_b)] = between
        self.edges_nn[np.ix_(leaves_b, leaves_a)] = between.T
        self.members[new] = np.concatenate([leaves_a, leaves_b]), np.concatenate([depth_a, depth_b]) + 1


def upgma(distance_nn: np.ndarray) -> np.ndarray:
    """Average linkage."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    n = len(distance_nn)
    clusters = Clusters(n)
    for new, (a, b, _, _) in enumerate(linkage(squareform(distance_nn, checks=False), "average"), n):
        clusters.join(int(a), int(b), new)
    return clusters.edges_nn


def neighbour_joining(distance_nn: np.ndarray) -> np.ndarray:
    """Saitou and Nei's: join the two nodes that are near to each other and far from all others, again and again."""
    far = distance_nn.astype(np.float64).copy()
    np.fill_diagonal(far, 0)
    n = len(far)
    clusters = Clusters(n)
    node = np.arange(n)  # the cluster of every row that is left
    for new in range(n, 2 * n - 2):
        m = len(far)
        total = far.sum(0)
        apart = (m - 2) * far - total - total[:, None]
        np.fill_diagonal(apart, np.inf)
        i, j = sorted(divmod(int(apart.argmin()), m))
        clusters.join(node[i], node[j], new)
        joined = (far[i] + far[j] - far[i, j]) / 2
        far[i], far[:, i] = joined, joined
        far[i, i] = 0
        node[i] = new
        far = np.delete(np.delete(far, j, 0), j, 1)
        node = np.delete(node, j)
    if len(node) == 2:
        clusters.join(node[0], node[1], 2 * n - 2)
    return clusters.edges_nn


def edges_of(paths: Sequence[Sequence[str]]) -> np.ndarray:
    """Of a given tree: the path of each leaf from the root, which all have in common, down to itself."""
    depth = max(map(len, paths))
    names = np.array([[*path, *[""] * (depth - len(path))] for path in paths], dtype=object)
    same_nn = np.ones((len(paths), len(paths)), bool)
    shared_nn = np.zeros(same_nn.shape, np.int32)
    for level in range(depth):
        column = np.unique(names[:, level].astype(str), return_inverse=True)[1]
        there = names[:, level] != ""
        same_nn &= (column[:, None] == column) & there[:, None] & there
        shared_nn += same_nn
    length = np.array([len(path) for path in paths], np.int32)
    edges_nn = length[:, None] + length - 2 * shared_nn
    np.fill_diagonal(edges_nn, 0)
    return edges_nn


def splits(edges_nn: np.ndarray, quartets_q4: np.ndarray) -> np.ndarray:
    """How a tree divides four leaves a b c d: 0 ab|cd, 1 ac|bd, 2 ad|bc, −1 if it does not."""
    a, b, c, d = quartets_q4.T
    sums = np.stack([edges_nn[a, b] + edges_nn[c, d], edges_nn[a, c] + edges_nn[b, d], edges_nn[a, d] + edges_nn[b, c]])
    least = sums.argmin(0)
    lone = (sums == sums.min(0)).sum(0) == 1
    return np.where(lone, least, -1)


def resolved_quartets(edges_nn: np.ndarray, most: int, seed: int = 20231) -> np.ndarray:
    """Quartets that the given tree resolves: all of them, or so many at random."""
    n = len(edges_nn)
    if n < 4:
        return np.zeros((0, 4), np.int64)
    if n <= 60:
        from itertools import combinations

        every = np.array(list(combinations(range(n), 4)))
        kept = every[splits(edges_nn, every) >= 0]
        return kept if len(kept) <= most else np.random.default_rng(seed).permutation(kept)[:most]
    rng = np.random.default_rng(seed)
    found: list[np.ndarray] = []
    while sum(map(len, found)) < most:
        drawn = rng.integers(0, n, (most, 4))
        ordered = np.sort(drawn, axis=1)
        drawn = drawn[(np.diff(ordered, axis=1) > 0).all(1)]
        kept = drawn[splits(edges_nn, drawn) >= 0]
        if not len(kept):
            break  # a star
        found.append(kept)
    return np.concatenate(found)[:most] if found else np.zeros((0, 4), np.int64)


def quartet_distance(edges_nn: np.ndarray, quartets_q4: np.ndarray, truth_q: np.ndarray) -> float:
    """The share of quartets that a tree resolves otherwise than the given one."""
    if not len(quartets_q4):
        return float("nan")
    return float((splits(edges_nn, quartets_q4) != truth_q).mean())
