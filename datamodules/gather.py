"""Texts that come in batches, as ids: what is kept of a batch is four bytes a word, and the distinct words of all.

As in `atd.tokeniser`, a rule is asked once for every distinct piece of text, here over all batches.

n texts, T tokens of all of them.
"""

from __future__ import annotations

from functools import cached_property
from itertools import repeat

import numpy as np
import pyarrow as pa
import torch

from atd.numbering import numbering
from atd.ragged import Ragged, offsets_of, spans
from atd.tokeniser import Tokeniser
from atd.vocabulary import UNK_ID, Vocabulary


class Gathered:
    """Add batches of text; then count the words of some rows, and take the rows in any order."""

    def __init__(self, tokeniser: Tokeniser):
        self.numbers = numbering(tokeniser)
        self.parts: list[Ragged] = []

    def add(self, texts: pa.Array | pa.ChunkedArray) -> None:
        self.parts.append(self.numbers.add(texts))

    @cached_property
    def words(self) -> list[str]:
        """The distinct words, by their numbers, when all texts are there."""
        return self.numbers.types

    @property
    def lengths(self) -> np.ndarray:
        """Words of every text (n)."""
        return np.concatenate([part.lengths for part in self.parts])

    @property
    def bounds(self) -> np.ndarray:
        """The first row of every batch, and the end of the last."""
        return offsets_of([len(part) for part in self.parts])

    def vocabulary(
        self, times_n: np.ndarray, min_count: int, max_size: int | None, old: Vocabulary | None = None
    ) -> Vocabulary:
        """The words of the rows, each counted `times` over (0 leaves a row out), after `old` ones."""
        counts = np.zeros(len(self.words), np.int64)
        for part, first in zip(self.parts, self.bounds):
            times = np.repeat(times_n[first : first + len(part)], part.lengths)
            counts += np.bincount(part.tokens, times, len(counts)).astype(np.int64)
        words = {word: n for word, n in zip(self.words, counts.tolist()) if n}
        return Vocabulary.from_counts(words, min_count, max_size, old)

    def taken(self, order: np.ndarray, vocabulary: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
        """(ids (T), offsets) of the rows in this order; one may come several times. The batches are used up."""
        bounds = self.bounds
        offsets = offsets_of(self.lengths[order])
        ids = np.empty(int(offsets[-1]), np.int32)
        id_of = np.fromiter(map(vocabulary.index.get, self.words, repeat(UNK_ID)), np.int32)
        by_row = np.argsort(order, kind="stable")
        cuts = np.searchsorted(order[by_row], bounds)
        for i, first in enumerate(bounds[:-1]):
            part, self.parts[i] = self.parts[i], Ragged(np.zeros(0, np.int32), np.zeros(1, np.int64))
            here = np.sort(by_row[cuts[i] : cuts[i + 1]])  # places in `order` of this batch's rows
            source, _ = part.where(order[here] - first)
            target = spans(torch.from_numpy(offsets[here]), torch.from_numpy(part.lengths[order[here] - first]))
            ids[target.numpy()] = id_of[part.tokens[source]]
        return ids, offsets
