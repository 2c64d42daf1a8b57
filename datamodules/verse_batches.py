"""Batches of verses by language, with a position that a resumed run goes on from.

V units, B verses of a language.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from atd.encoded import EncodedCorpus
from atd.meaning import Said
from atd.position import Position


class VerseLoader(Position):
    """Languages in an order that seed and epoch choose, some a batch, each with all its verses.

    Without a seed they come in their own order. `first`: the token that is unit 0. `dealt`: the seed by which gates are
    dealt to the verses at random, a control.
    """

    def __init__(
        self, texts: EncodedCorpus, V: int, first: int, languages: int, seed: int | None, dealt: int | None = None
    ):
        self.texts, self.V, self.first, self.languages, self.seed = texts, V, first, languages, seed
        gate_n = texts.attributes
        self.gate_n = gate_n if dealt is None else np.random.default_rng(dealt).permutation(gate_n)
        order = np.argsort(self.gate_n, kind="stable")
        self.of_gate = np.split(order, np.flatnonzero(np.diff(self.gate_n[order])) + 1)  # verses of every gate

    def __len__(self) -> int:
        return -(-len(self.of_gate) // self.languages)

    def __iter__(self) -> Iterator[list[Said]]:
        start, self._start = self._start, 0
        order = self.order()
        for position in range(start, len(self)):
            self.position = position + 1
            some = order[position * self.languages : (position + 1) * self.languages]
            yield [self.said(self.of_gate[i]) for i in some]

    def order(self) -> np.ndarray:
        if self.seed is None:
            return np.arange(len(self.of_gate))
        return np.random.default_rng((self.seed, self.epoch)).permutation(len(self.of_gate))

    def said(self, rows: np.ndarray) -> Said:
        """These verses, which are under one gate."""
        where, offsets = self.texts.where(rows)
        first_T = np.repeat(np.arange(len(rows)) * self.V, np.diff(offsets))
        place_T = torch.from_numpy(first_T + self.texts.tokens[where] - self.first)
        count = torch.zeros(len(rows) * self.V).index_add_(0, place_T, torch.ones(len(place_T)))
        return Said(
            language=int(self.gate_n[rows[0]]),
            letters_B=torch.from_numpy(self.texts.attributes[rows].astype(np.int64)),
            meaning_B=torch.from_numpy(self.texts.columns["meaning"][rows].astype(np.int64)),
            count_BV=count.view(len(rows), self.V),
        )

    def _identity(self) -> dict[str, Any]:
        return {"verses": len(self.texts), "languages": self.languages, "seed": self.seed}
