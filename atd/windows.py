"""Batches for the language model: every token once per epoch, with the N tokens before it and its attribute.

A batch is one vectorised look-up in the memory-mapped tokens, so no worker processes are needed and the order depends
on (seed, epoch) alone. Nothing depends on the number of processes:

- `batch_size` is the size of the *global* batch. The n examples are dealt into ⌈n / batch_size⌉ batches whose sizes
  differ by at most one, so there is no small last batch.
- rank r of W takes the r-th of W nearly equal parts of each batch. Every rank thus sees the same number of batches (DDP
  would wait for ever otherwise), at least one example in each, and over all ranks every example comes exactly once.
- `weight` is what the rank's mean loss over the batch in use counts for, so that the mean over ranks is the mean over
  the global batch also where the parts differ by one; `place` is where the part begins in that batch, and its size.
- a checkpoint made on 4 ranks resumes exactly on 1 or 8, since the position is a count of global batches.

Legend: B batch (of this rank), N context, M attributes of one document.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from atd.errors import AtdError
from atd.permutation import Permutation
from atd.position import Position
from atd.vocabulary import BOS_ID

if TYPE_CHECKING:
    from datamodules.cache import EncodedCorpus


class Examples:
    """The tokens of some documents, numbered 0…n−1: `locate` finds where a number lies in the corpus.

    `table` gives the document of every 2^s-th example, 2^s being a quarter to half the mean length of a document; from
    there a few take a step forwards. This is five times faster than `np.searchsorted` in a million documents.
    """

    def __init__(self, offsets: np.ndarray, documents: np.ndarray | None = None):
        lengths = np.diff(offsets)
        documents = np.arange(len(lengths)) if documents is None else np.asarray(documents)
        self.documents = documents[lengths[documents] > 0]
        lengths = lengths[self.documents]
        self.starts, self.ends = offsets[self.documents], np.cumsum(lengths)
        self.shift = self.starts - self.ends + lengths
        self.n = int(lengths.sum())
        self.stride = max((self.n // max(len(lengths), 1)).bit_length() - 2, 0)
        self.table = np.searchsorted(self.ends, np.arange(0, self.n, 1 << self.stride), side="right")

    def locate(self, i: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(token index, index where its document starts, document) of every example in i."""
        d = self.table.take(i >> self.stride)
        late = np.flatnonzero(self.ends.take(d) <= i)
        while late.size:
            d[late] = step = d[late] + 1
            late = late[self.ends.take(step) <= i[late]]
        return i + self.shift.take(d), self.starts.take(d), self.documents.take(d)


class WindowLoader(Position):
    """Yields `(context_BN, target_B, attribute_B or attribute_BM)`, int64; positions before a document are `<s>`.

    With `groups` (one id per document, say its language) a batch holds documents of one group only and a fourth
    element names it; the groups' batches are interleaved evenly in proportion to their sizes. With `drop_last` every
    batch has exactly `batch_size` examples and a different small rest is left out each epoch.

    Lightning calls `sampler.set_epoch` after `iter()`, and `load_state_dict` before it; hence the iterator reads epoch
    and position when the first batch is asked for. A loader of known length is never prefetched from, so the number of
    batches yielded is the number trained on, and `state_dict` is exact.
    """

    def __init__(
        self,
        corpus: EncodedCorpus,
        context: int,
        batch_size: int,
        seed: int,
        shuffle: bool = True,
        rank: int = 0,
        world_size: int = 1,
        drop_last: bool = False,
        groups: np.ndarray | None = None,
    ):
        if context < 1 or batch_size < 1:
            raise AtdError(f"context and batch_size are at least 1, got {context} and {batch_size}")
        self.corpus, self.context, self.batch_size = corpus, context, batch_size
        self.seed, self.shuffle, self.drop_last = seed, shuffle, drop_last
        self.rank, self.world_size = rank, world_size
        self.grouped = groups is not None
        if groups is None:
            self.group_ids, self.parts = [0], [Examples(corpus.offsets)]
        else:
            groups = np.asarray(groups)
            self.group_ids = np.unique(groups).tolist()
            self.parts = [Examples(corpus.offsets, np.flatnonzero(groups == g)) for g in self.group_ids]
        self.batches = [p.n // batch_size if drop_last else -(-p.n // batch_size) for p in self.parts]
        self._schedule = self._interleave()
        self._check_ranks()
        self.epoch = self.position = self._start = 0
        self.weight, self.place = 1.0, (0, 0)

    def __len__(self) -> int:
        return len(self._schedule)

    def __iter__(self) -> Iterator[tuple]:
        start, self._start = self._start, 0
        orders = [Permutation(p.n, (self.seed, self.epoch, g)) for g, p in enumerate(self.parts)]
        for position in range(start, len(self)):
            g, k = self._schedule[position]
            self.position = position + 1  # a checkpoint made while this batch is in use counts it as done
            part, size = self._slice(g, k)
            self.weight, self.place = len(part) * self.world_size / size, (size * self.rank // self.world_size, size)
            yield self._batch(g, part, orders[g])

    @property
    def examples(self) -> int:
        """Number of examples of one epoch over all ranks."""
        return sum(b * self.batch_size if self.drop_last else p.n for b, p in zip(self.batches, self.parts))

    def _identity(self) -> dict[str, Any]:
        return {
            "examples": self.examples,
            "batch_size": self.batch_size,
            "seed": self.seed,
            "shuffle": self.shuffle,
        }

    def _interleave(self) -> np.ndarray:
        """Rows (group, batch of that group): batch k of a group with m batches is due at (k + ½) / m."""
        group = np.repeat(np.arange(len(self.parts)), self.batches)
        batch = np.concatenate([np.arange(m) for m in self.batches])
        due = np.concatenate([(np.arange(m) + 0.5) / max(m, 1) for m in self.batches])
        order = np.argsort(due, kind="stable")
        return np.stack([group, batch], axis=1)[order]

    def _check_ranks(self) -> None:
        smallest = min((self._size(g) for g in range(len(self.parts)) if self.batches[g]), default=None)
        if smallest is not None and smallest < self.world_size:
            raise AtdError(
                f"a batch of {smallest} examples cannot feed {self.world_size} processes: "
                "raise data.batch_size or use fewer devices"
            )

    def _size(self, g: int) -> int:
        """Examples in the smallest global batch of group g."""
        return self.batch_size if self.drop_last else self.parts[g].n // self.batches[g]

    def _slice(self, g: int, k: int) -> tuple[np.ndarray, int]:
        """The example numbers, before shuffling, of this rank's part of batch k of group g, and the batch's size."""
        if self.drop_last:
            low, high = k * self.batch_size, (k + 1) * self.batch_size
        else:
            n, m = self.parts[g].n, self.batches[g]
            low, high = int(k) * n // m, (int(k) + 1) * n // m
        m, r, w = high - low, self.rank, self.world_size
        return np.arange(low + m * r // w, low + m * (r + 1) // w), m

    def _batch(self, g: int, i: np.ndarray, order: Permutation) -> tuple:
        token, start, document = self.parts[g].locate(order(i) if self.shuffle else i)
        context_BN = np.empty((len(token), self.context), dtype=np.int64)
        for j in range(self.context):  # a column at a time: twice as fast as one look-up with a B×N index
            context_BN[:, j] = self.corpus.tokens.take(token + (j - self.context), mode="wrap")
        near = np.flatnonzero(token - start < self.context)  # the few that reach back beyond their document
        missing = self.context - (token - start)[near, None]
        context_BN[near] = np.where(np.arange(self.context) < missing, BOS_ID, context_BN[near])
        target_B = self.corpus.tokens.take(token).astype(np.int64)
        attribute = self.corpus.attributes[token if self.corpus.per_token else document].astype(np.int64)
        batch = tuple(torch.from_numpy(x) for x in (context_BN, target_B, attribute))
        return (*batch, self.group_ids[g]) if self.grouped else batch
