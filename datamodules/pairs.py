"""Batches of sentence pairs: line i of one language beside line i of the other, as bags of words.

B pairs of a batch, n contrastive sentences per pair, T words. A batch holds one pair of languages. Order and choices
are functions of (seed, epoch, batch) alone, so a run can be resumed in the middle of an epoch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from atd.bags import Bags
from atd.errors import AtdError
from atd.permutation import Permutation
from atd.position import Position, interleave
from atd.ragged import Ragged, offsets_of


@dataclass
class Pairs:
    """Sentences of two languages, number i of one the translation of number i of the other.

    Words are numbered within their language.
    """

    languages: tuple[int, int]  # their numbers
    source: Ragged
    target: Ragged

    def __len__(self) -> int:
        return len(self.source)

    def take(self, chosen: np.ndarray) -> Pairs:
        return Pairs(self.languages, self.source.take(chosen), self.target.take(chosen))


@dataclass
class PairBatch:
    """One bag for each of B source sentences, B target sentences and, when drawn, B·n contrastive target sentences."""

    bags: Bags
    languages: tuple[int, int]
    size: int  # B

    def to(self, device) -> PairBatch:
        return PairBatch(self.bags.to(device), self.languages, self.size)


class PairLoader(Position):
    """All pairs once per epoch. Several language pairs are interleaved evenly, each batch being of one.

    `bounds` (A+1) turn word numbers of a language into rows of the common table. `dropout` leaves out words at random,
    `draws` adds so many contrastive sentences per pair, drawn from all target sentences: the paper's "randomly
    assigned per epoch". Rank r of W takes its part of every batch.
    """

    def __init__(
        self,
        pairs: Sequence[Pairs],
        bounds: np.ndarray,
        batch_size: int,
        seed: int,
        shuffle: bool = True,
        dropout: float = 0.0,
        draws: int = 0,
        rank: int = 0,
        world_size: int = 1,
    ):
        self.pairs = list(pairs)
        self.bounds = bounds
        self.batch_size = batch_size
        self.seed = seed
        self.shuffle = shuffle
        self.dropout = dropout
        self.draws = draws
        self.rank = rank
        self.world_size = world_size
        counts = [-(-len(p) // batch_size) for p in self.pairs]
        smallest = min((len(p) // c for p, c in zip(self.pairs, counts) if c), default=0)
        if smallest < 2 * world_size:
            raise AtdError(f"data.batch_size={batch_size}: a batch needs at least two pairs per process")
        self._counts = counts  # batches of every pair of languages
        self._schedule = interleave(counts)
        self.epoch = self.position = self._start = 0

    def __len__(self) -> int:
        return len(self._schedule)

    def __iter__(self) -> Iterator[PairBatch]:
        """While a batch is in use a thread makes the next one."""
        start, self._start = self._start, 0
        orders = [Permutation(len(p), (self.seed, self.epoch, i)) for i, p in enumerate(self.pairs)]
        with ThreadPoolExecutor(1) as maker:
            made = [maker.submit(self._batch, position, orders) for position in range(start, len(self))[:1]]
            for position in range(start, len(self)):
                batch = made.pop().result()
                made = [maker.submit(self._batch, position + 1, orders)] if position + 1 < len(self) else []
                self.position = position + 1  # counts the batch about to be yielded
                yield batch

    def _chosen(self, position: int, orders: Sequence[Permutation]) -> tuple[Pairs, np.ndarray]:
        """The language pair of a batch, and the numbers of this rank's part of it."""
        which, k = (int(v) for v in self._schedule[position])
        n = len(self.pairs[which])
        batches = self._counts[which]
        low = k * n // batches
        size = (k + 1) * n // batches - low
        part = np.arange(low + size * self.rank // self.world_size, low + size * (self.rank + 1) // self.world_size)
        return self.pairs[which], orders[which](part) if self.shuffle else part

    def _batch(self, position: int, orders: Sequence[Permutation]) -> PairBatch:
        pairs, chosen = self._chosen(position, orders)
        rng = np.random.default_rng((self.seed, self.epoch, position + 1, self.rank))
        targets = chosen
        if self.draws:
            shift = rng.integers(1, len(pairs), (len(chosen), self.draws))  # never the translation itself
            targets = np.concatenate([chosen, ((chosen[:, None] + shift) % len(pairs)).ravel()])
        sides = [pairs.source.take(chosen), pairs.target.take(targets)]
        tokens = [s.tokens + self.bounds[language] for s, language in zip(sides, pairs.languages)]
        flat = np.concatenate(tokens)
        offsets = np.concatenate([sides[0].offsets, sides[1].offsets[1:] + sides[0].offsets[-1]])
        if self.dropout:
            kept = rng.random(len(flat)) >= self.dropout
            offsets = offsets_of(kept)[offsets]
            flat = flat[kept]
        return PairBatch(Bags.of(Ragged(flat, offsets), int(self.bounds[-1])), pairs.languages, len(chosen))

    def _identity(self) -> dict[str, Any]:
        return {"pairs": sum(map(len, self.pairs)), "batch_size": self.batch_size, "seed": self.seed}
