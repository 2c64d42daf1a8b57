"""Batches for the language model: every token once per epoch, with the N tokens before it and its attribute.

A batch is one vectorised look-up in the memory-mapped tokens, so no worker processes are needed and the order depends
on (seed, epoch) alone. Nothing depends on the number of processes:

- `batch_size` is the size of the *global* batch. The n examples are dealt into ⌈n / batch_size⌉ batches whose sizes
  differ by at most one, so there is no small last batch.
- rank r of W takes the r-th of W nearly equal parts of each batch. Every rank thus sees the same number of batches (DDP
  would wait for ever otherwise), at least one example in each, and over all ranks every example comes exactly once.
- a checkpoint made on 4 ranks resumes exactly on 1 or 8, since the position is a count of global batches.

Legend: B batch (of this rank), N context, M attributes of one document.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from atd.attributes import Blend
from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.permutation import Permutation
from atd.position import Position, interleave
from atd.ragged import windows


@dataclass
class WindowBatch:
    """B words to predict, each with the N words before it.

    `weight` is what the mean loss of this batch counts for: the mean over processes is then the mean over the global
    batch, also where their parts of it differ by one. `place` is (where this part begins, size of the global batch).
    """

    context: Tensor  # B×N
    target: Tensor  # B
    attribute: Tensor | Blend  # B, or B×M
    language: int = 0  # the group of documents it is from, when vocabularies are unshared
    weight: float = 1.0
    place: tuple[int, int] | None = None

    def __len__(self) -> int:
        return len(self.target)

    @property
    def ids(self) -> Tensor:
        """The attributes without their shares."""
        return self.attribute.ids if isinstance(self.attribute, Blend) else self.attribute

    def to(self, device: torch.device | str, **options: Any) -> WindowBatch:
        moved = {name: getattr(self, name).to(device, **options) for name in ("context", "target", "attribute")}
        return replace(self, **moved)


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
    """Yields `WindowBatch`es of int64 ids; positions before a document are `<s>`.

    With `groups` (one id per document, say its language) a batch holds documents of one group only; the groups' batches
    are interleaved evenly in proportion to their sizes. With `drop_last` every batch has exactly `batch_size` examples
    and a different small rest is left out each epoch.

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
        self.corpus = corpus
        self.context = context
        self.batch_size = batch_size
        self.seed = seed
        self.shuffle = shuffle
        self.drop_last = drop_last
        self.rank = rank
        self.world_size = world_size
        if groups is None:
            self.group_ids, self.parts = [0], [Examples(corpus.offsets)]
        else:
            groups = np.asarray(groups)
            self.group_ids = np.unique(groups).tolist()
            self.parts = [Examples(corpus.offsets, np.flatnonzero(groups == g)) for g in self.group_ids]
        self.batches = [p.n // batch_size if drop_last else -(-p.n // batch_size) for p in self.parts]
        self._schedule = interleave(self.batches)
        self._check_ranks()
        self.epoch = self.position = self._start = 0

    def __len__(self) -> int:
        return len(self._schedule)

    def __iter__(self) -> Iterator[WindowBatch]:
        start, self._start = self._start, 0
        orders = [Permutation(p.n, (self.seed, self.epoch, g)) for g, p in enumerate(self.parts)]
        for position in range(start, len(self)):
            g, k = self._schedule[position]
            self.position = position + 1  # a checkpoint made while this batch is in use counts it as done
            part, size = self._slice(g, k)
            weight = len(part) * self.world_size / size
            place = size * self.rank // self.world_size, size
            yield replace(self._batch(g, part, orders[g]), weight=weight, place=place)

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

    def _check_ranks(self) -> None:
        smallest = min((self._size(g) for g in range(len(self.parts)) if self.batches[g]), default=None)
        if smallest is not None and smallest < self.world_size:
            raise AtdError(
                f"a batch of {smallest} examples cannot feed {self.world_size} processes: "
                "raise batch_size or use fewer devices"
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
        size = high - low
        first = low + size * self.rank // self.world_size
        last = low + size * (self.rank + 1) // self.world_size
        return np.arange(first, last), size

    def _batch(self, g: int, i: np.ndarray, order: Permutation) -> WindowBatch:
        token, start, document = self.parts[g].locate(order(i) if self.shuffle else i)
        context_BN = windows(self.corpus.tokens, token, start, self.context)
        target_B = self.corpus.tokens.take(token).astype(np.int64)
        return WindowBatch(
            context=torch.from_numpy(context_BN),
            target=torch.from_numpy(target_B),
            attribute=self._attributes(document, token),
            language=self.group_ids[g],
        )

    def _attributes(self, document: np.ndarray, token: np.ndarray) -> Tensor | Blend:
        at = token if self.corpus.per_token else document
        ids = torch.from_numpy(self.corpus.attributes[at].astype(np.int64))
        shares = self.corpus.shares
        return ids if shares is None else Blend(ids, torch.from_numpy(shares[at]))
