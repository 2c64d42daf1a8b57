"""The count-based model: interpolated modified Kneser–Ney of any order (Chen & Goodman 1999), exact, in NumPy.

p(w | h) = (c(h w) − D(c(h w))) / c(h) + γ(h) p(w | h′), where h′ is h without its first word and γ(h) is the mass that
the discounts D free. c counts occurrences at the highest order, and different words before h w at lower ones; an n-gram
that opens a text has nothing before it and keeps its occurrences. Beneath the words alone lies a floor: 1 / V, or the
distribution of another model.

One model can hold many: where every example has a group (its book, its author), contexts are those of the group, so
that thousands of small models are a few sorted arrays. The groups share the discounts.

B examples, N words of a context, V vocabulary, G groups, U different contexts of one length, S different n-grams,
T words to write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from atd.vocabulary import BOS_ID

FALLBACK = np.array([0.0, 0.5, 1.0, 1.5])  # D of counts 0, 1, 2 and more, where counts of counts say nothing
BATCH = 256  # texts written at once, to bound memory


@dataclass
class Level:
    """All n-grams of one length. A context is numbered by its place in `contexts`."""

    contexts: np.ndarray  # U, ascending: number of the shorter context · V + the word before it; of length 0: the group
    grams: np.ndarray  # S, ascending: number of the context · V + word
    counts: np.ndarray  # S
    discounts: np.ndarray  # 4
    total_U: np.ndarray  # c(h)
    backoff_U: np.ndarray  # γ(h)

    def discounted(self, counts: np.ndarray, h: np.ndarray) -> np.ndarray:
        """(c − D(c)) / c(h) of n-grams after contexts with these numbers."""
        return (counts - self.discounts[np.minimum(counts, 3)]) / self.total_U[h]


class KneserNey:
    """`order` words of an n-gram; `start` is the word that contexts are filled up with before a text begins."""

    def __init__(self, V: int, order: int = 5, start: int = BOS_ID):
        if order < 1:
            raise ValueError(f"order={order}: an n-gram has at least one word")
        self.V = V
        self.order = order
        self.start = start
        self.levels: list[Level] = []

    def fit(
        self, context_BN: np.ndarray, target_B: np.ndarray, group_B: np.ndarray | None = None, G: int = 1
    ) -> KneserNey:
        """Count the targets after the last words of their contexts, each group for itself."""
        self.levels = []
        longer = None
        for contexts, opens_U, grams, occurrences in reversed(self._occurrences(context_BN, target_B, group_B, G)):
            counts = occurrences
            if longer is not None:
                contexts_of_longer, grams_of_longer = longer
                h, word = np.divmod(grams_of_longer, self.V)
                shortened = contexts_of_longer[h] // self.V * self.V + word
                different = np.bincount(np.searchsorted(grams, shortened), minlength=len(grams))
                counts = np.where(opens_U[grams // self.V], occurrences, different)
            self.levels.insert(0, self._level(contexts, grams, counts))
            longer = contexts, grams
        return self

    def _occurrences(
        self, context_BN: np.ndarray, target_B: np.ndarray, group_B: np.ndarray | None, G: int
    ) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """For each length of context: (contexts, which of them open a text, n-grams, occurrences of these)."""
        self._check(context_BN)
        found = []
        rows = np.arange(len(target_B))
        target_B = target_B.astype(np.int64)
        h = np.zeros(len(rows), np.int64) if group_B is None else group_B.astype(np.int64)
        contexts, opens_U = np.arange(G), np.zeros(G, dtype=bool)
        for n in range(self.order):
            if n:
                before = context_BN[rows, -n].astype(np.int64)
                inside = ~(opens_U[h] & (before == self.start))  # one start says all that several do
                rows = rows[inside]
                contexts, h = np.unique(h[inside] * self.V + before[inside], return_inverse=True)
                opens_U = contexts % self.V == self.start
            grams, occurrences = np.unique(h * self.V + target_B[rows], return_counts=True)
            found.append((contexts, opens_U, grams, occurrences))
        return found

    def _level(self, contexts: np.ndarray, grams: np.ndarray, counts: np.ndarray) -> Level:
        discounts = discounts_of(counts)
        h, U = grams // self.V, len(contexts)
        total_U = np.bincount(h, counts, U)
        freed_U = np.bincount(h, discounts[np.minimum(counts, 3)], U)
        backoff_U = np.divide(freed_U, total_U, out=np.ones(U), where=total_U > 0)
        return Level(contexts, grams, counts.astype(np.int32), discounts, total_U, backoff_U)

    def log_probabilities(
        self, context_BN: np.ndarray, target_B: np.ndarray, group_B: np.ndarray | None = None
    ) -> np.ndarray:
        """log p(target | context), in nats (B)."""
        return np.log(self.probabilities(context_BN, target_B, group_B))

    def probabilities(
        self,
        context_BN: np.ndarray,
        target_B: np.ndarray,
        group_B: np.ndarray | None = None,
        floor_B: np.ndarray | None = None,
    ) -> np.ndarray:
        """p(target | context) (B). A group without text has the floor's."""
        p_B = np.full(len(target_B), 1 / self.V) if floor_B is None else floor_B.copy()
        for level, rows, h in self._climb(context_BN, group_B):
            at, seen = find(level.grams, h * self.V + target_B[rows])
            counts = np.where(seen, level.counts[at], 0)
            p_B[rows] = level.discounted(counts, h) + level.backoff_U[h] * p_B[rows]
        return p_B

    def distributions(
        self, context_BN: np.ndarray, group_B: np.ndarray | None = None, floor_BV: np.ndarray | None = None
    ) -> np.ndarray:
        """p(· | context) of every context (B×V)."""
        B = len(context_BN)
        p_BV = np.zeros((B, self.V))
        left_B = np.ones(B)  # what longer contexts leave to shorter ones
        climb = list(self._climb(context_BN, group_B))
        for level, rows, h in reversed(climb[1:]):
            of, word, own = self._followers(level, h)
            p_BV[rows[of], word] += left_B[rows[of]] * own
            left_B[rows] *= level.backoff_U[h]
        words, rows, group = climb[0]
        groups, which = np.unique(group, return_inverse=True)  # few, and all words follow: once for each group
        of, word, own = self._followers(words, groups)
        own_GV = np.zeros((len(groups), self.V))
        own_GV[of, word] = own
        p_BV[rows] += left_B[rows, None] * own_GV[which]
        left_B[rows] *= words.backoff_U[group]
        p_BV += left_B[:, None] * (1 / self.V if floor_BV is None else floor_BV)
        return p_BV

    def _followers(self, level: Level, h: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All words seen after contexts with these numbers: (place of the context in h, word, its discounted share)."""
        first, last = np.searchsorted(level.grams, [h * self.V, (h + 1) * self.V])
        size = last - first
        of = np.repeat(np.arange(len(h)), size)
        at = np.arange(len(of)) + np.repeat(last - np.cumsum(size), size)
        return of, level.grams[at] % self.V, level.discounted(level.counts[at], h[of])

    def distribution(self, context_N: np.ndarray, group: int = 0) -> np.ndarray:
        """p(· | context), V numbers that sum to one."""
        return self.distributions(np.asarray(context_N)[None], np.array([group]))[0]

    def perplexity(self, context_BN: np.ndarray, target_B: np.ndarray, group_B: np.ndarray | None = None) -> float:
        return float(np.exp(-self.log_probabilities(context_BN, target_B, group_B).mean()))

    def _climb(
        self, context_BN: np.ndarray, group_B: np.ndarray | None
    ) -> Iterator[tuple[Level, np.ndarray, np.ndarray]]:
        """From no word of context to all: (level, examples whose context was seen, the numbers of these contexts)."""
        self._check(context_BN)
        rows = np.arange(len(context_BN))
        h = np.zeros(len(rows), np.int64) if group_B is None else np.asarray(group_B, np.int64)
        for n, level in enumerate(self.levels):
            h, seen = find(level.contexts, h * self.V + context_BN[rows, -n] if n else h)
            rows, h = rows[seen], h[seen]
            heard = level.total_U[h] > 0
            rows, h = rows[heard], h[heard]
            yield level, rows, h

    def _check(self, context_BN: np.ndarray) -> None:
        if context_BN.shape[1] < self.order - 1:
            raise ValueError(f"{self.order}-grams need {self.order - 1} words of context, not {context_BN.shape[1]}")


def discounts_of(counts: np.ndarray) -> np.ndarray:
    """D of counts 0, 1, 2 and more, from how many n-grams came once, twice, three and four times (4).

    A discount that these do not determine, or put outside of 0 < D ≤ count, is FALLBACK's.
    """
    n = np.bincount(np.minimum(counts, 5), minlength=6).astype(float)
    share = n[1] / max(n[1] + 2 * n[2], 1)
    discounts = FALLBACK.copy()
    for i in (1, 2, 3):
        found = i - (i + 1) * share * n[i + 1] / n[i] if n[i] and n[i + 1] else -1.0
        if 0 < found <= i:
            discounts[i] = found
    return discounts


def find(table: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(place in the ascending table, whether it is there) of every key."""
    if not len(table):
        return np.zeros(len(keys), np.int64), np.zeros(len(keys), dtype=bool)
    at = np.searchsorted(table, keys).clip(max=len(table) - 1)
    return at, table[at] == keys


def write(
    distributions: Callable[[np.ndarray, np.ndarray], np.ndarray],
    start_BN: np.ndarray,
    words: int,
    generator: np.random.Generator,
    temperature: float = 1.0,
    forbid: Sequence[int] = (),
) -> np.ndarray:
    """Continue every start by so many words (B×T), drawn with probability p^(1/temperature), never one in `forbid`.

    `distributions` gives p of (contexts, the numbers of their texts). Temperature 0 takes the likeliest word.
    """
    B, N = start_BN.shape
    text = np.concatenate([start_BN, np.zeros((B, words), start_BN.dtype)], axis=1)
    for rows in np.array_split(np.arange(B), -(-B // BATCH)):
        for t in range(words):
            p_BV = distributions(text[rows, t : t + N], rows)
            p_BV[:, list(forbid)] = 0
            text[rows, t + N] = draw(p_BV, generator, temperature)
    return text[:, N:]


def draw(p_BV: np.ndarray, generator: np.random.Generator, temperature: float = 1.0) -> np.ndarray:
    """A column of each row in proportion to p^(1/temperature); the largest where the temperature is 0 (B)."""
    if temperature == 0:
        return p_BV.argmax(1)
    if temperature != 1:
        p_BV = (p_BV / p_BV.max(1, keepdims=True)) ** (1 / temperature)
    cumulative_BV = p_BV.cumsum(1)
    goal_B = generator.random(len(p_BV)) * cumulative_BV[:, -1] * (1 - 1e-12)
    return (cumulative_BV <= goal_B[:, None]).sum(1)
