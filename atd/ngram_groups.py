"""Kneser–Ney under every group at once: which groups have seen a context, and what follows it in each.

`KneserNey` keeps the n-grams of a group together. Here they are kept by n-gram: a context's groups lie side by side,
and only they are touched when a word is scored under all groups. Rare contexts are known to few.

B examples, N words of a context, V vocabulary, G groups; U contexts and S n-grams of one length, in all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from atd.ngram import KneserNey, Level, find


@dataclass
class Shared:
    """The n-grams of one length. Groups of the i-th context are at `bounds[i]` up to `bounds[i + 1]`."""

    contexts: np.ndarray  # ascending: number of the shorter context · V + the word before it
    bounds: np.ndarray
    group: np.ndarray  # of every context in every group that has it
    backoff: np.ndarray  # γ
    grams: np.ndarray  # ascending: number of the context · V + word
    gram_bounds: np.ndarray
    gram_group: np.ndarray
    share: np.ndarray  # (c − D(c)) / c(h)


class Groups:
    """A fitted model of G groups, arranged by n-gram."""

    def __init__(self, model: KneserNey, G: int):
        self.V = model.V
        self.G = G
        self.levels: list[Shared] = []
        number_U = np.zeros(G, np.int64)  # of every context, whatever its group; at first the empty one
        group_U = np.arange(G)
        alive_U = np.ones(G, dtype=bool)
        for n, level in enumerate(model.levels):
            shorter, word = np.divmod(level.contexts, self.V)
            key_U = number_U[shorter] * self.V + word if n else np.zeros(G, np.int64)
            group_U = group_U[shorter] if n else group_U
            alive_U = (alive_U[shorter] if n else alive_U) & (level.total_U > 0)
            contexts, number_U = np.unique(key_U, return_inverse=True)
            self.levels.append(self._shared(level, contexts, number_U, group_U, alive_U))

    def _shared(
        self, level: Level, contexts: np.ndarray, number_U: np.ndarray, group_U: np.ndarray, alive_U: np.ndarray
    ) -> Shared:
        order = np.flatnonzero(alive_U)
        order = order[np.argsort(number_U[order], kind="stable")]
        bounds = np.searchsorted(number_U[order], np.arange(len(contexts) + 1))
        h_S, word_S = np.divmod(level.grams, self.V)
        kept = np.flatnonzero(alive_U[h_S])
        key_S = number_U[h_S[kept]] * self.V + word_S[kept]
        kept = kept[np.argsort(key_S, kind="stable")]
        grams, first = np.unique(np.sort(key_S), return_index=True)
        share_S = level.discounted(level.counts[kept], h_S[kept])
        gram_bounds = np.append(first, len(kept))
        return Shared(
            contexts, bounds, group_U[order], level.backoff_U[order], grams, gram_bounds, group_U[h_S[kept]], share_S
        )

    def probabilities(self, context_BN: np.ndarray, target_B: np.ndarray, floor: np.ndarray) -> np.ndarray:
        """p(target | context) in every group (B×G); the floor is the same for all groups (B), or each has one (B×G)."""
        p = floor.ravel().copy() if floor.ndim == 2 else np.repeat(floor, self.G)
        rows = np.arange(len(target_B))
        h = np.zeros(len(rows), np.int64)
        for n, level in enumerate(self.levels):
            if n:
                h, seen = find(level.contexts, h * self.V + context_BN[rows, -n])
                rows, h = rows[seen], h[seen]
            at, which = ranges(level.bounds, h)
            p[rows[which] * self.G + level.group[at]] *= level.backoff[at]
            gram, seen = find(level.grams, h * self.V + target_B[rows])
            at, which = ranges(level.gram_bounds, gram[seen])
            p[rows[seen][which] * self.G + level.gram_group[at]] += level.share[at]
        return p.reshape(-1, self.G)


def ranges(bounds: np.ndarray, i: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(the places of all ranges i, one after another, the place in i that each belongs to)."""
    first, size = bounds[i], bounds[i + 1] - bounds[i]
    which = np.repeat(np.arange(len(i)), size)
    at = np.arange(len(which)) + np.repeat(first + size - np.cumsum(size), size)
    return at, which
