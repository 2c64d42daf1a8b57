"""A corpus as ids: documents, the attributes of each, and what else is known of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from atd.design import Design
from atd.ragged import Ragged, offsets_of
from atd.vocabulary import Vocabulary


@dataclass
class EncodedCorpus(Ragged):
    """Documents as ids. The arrays of an opened cache are read-only views of the mapped file.

    `tokens` (n_tokens,) int32 · `offsets` (n_docs+1,) int64 · `attributes` int32: (n_docs,), (n_docs, M), or
    (n_tokens,) with `per_token` · `columns`: further values per document, NumPy or Arrow arrays · `meta`: JSON values,
    among them `vocabulary`, `attributes` (their names) and `design` (how columns make attributes), or `column` where
    there is one column of names · `shares` float32 (n_docs, M): of the attributes, all 1 if None.
    """

    attributes: np.ndarray
    columns: dict[str, Any] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)
    per_token: bool = False
    shares: np.ndarray | None = None

    def __post_init__(self) -> None:
        documents, n = len(self), len(self.tokens)
        rows = n if self.per_token else documents
        if self.offsets[0] != 0 or self.offsets[-1] != n or len(self.attributes) != rows:
            raise ValueError(
                f"offsets or {len(self.attributes)} attributes do not fit {documents} documents, {n} tokens"
            )
        for name, values in self.columns.items():
            if len(values) != documents:
                raise ValueError(f"column {name}: {len(values)} values for {documents} documents")

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary.from_state(self.meta["vocabulary"])

    @cached_property
    def design(self) -> Design:
        """What the attributes are combinations of, and how many words each has: of these documents, and before."""
        state, names = self.meta.get("design"), self.meta["attributes"]
        design = Design.from_state(state) if state else Design.plain(names, self.meta.get("column", "attribute"))
        words_A = self.attribute_words(len(names))
        return replace(design, words_A=words_A + design.words_A if len(design.words_A) else words_A)

    def attribute_words(self, A: int) -> np.ndarray:
        """How many words each attribute has (A)."""
        ids_nM = self.attributes.reshape(len(self.attributes), -1)
        shares_nM = np.ones(ids_nM.shape) if self.shares is None else self.shares
        words_n = np.ones(len(ids_nM)) if self.per_token else self.lengths
        return np.bincount(ids_nM.ravel(), (words_n[:, None] * shares_nM).ravel(), A)

    def shuffled(self, seed: int) -> EncodedCorpus:
        """The same documents with their attributes dealt to them at random: a control."""
        order = np.random.default_rng(seed).permutation(len(self.attributes))
        shares = None if self.shares is None else self.shares[order]
        return replace(self, attributes=self.attributes[order], shares=shares)

    def sample(self, words: int) -> EncodedCorpus:
        """Random documents that have about so many words together, always the same; all if there are no more."""
        if len(self.tokens) <= words:
            return self
        order = np.random.default_rng(0).permutation(len(self))
        enough = int(np.searchsorted(np.cumsum(self.lengths[order]), words)) + 1
        return self.take(np.sort(order[:enough]))

    def take(self, rows: np.ndarray) -> EncodedCorpus:
        """The corpus of some documents (a mask or indices). Neighbouring ones are a view, others a copy."""
        index = np.asarray(rows)
        index = np.flatnonzero(index) if index.dtype == bool else index.astype(np.int64)
        if len(index) and np.array_equal(index, np.arange(index[0], index[-1] + 1)):
            return self._slice(int(index[0]), int(index[-1]) + 1)
        where, offsets = self.where(index)
        attributes = self.attributes[where if self.per_token else index]
        columns = {name: values.take(index) for name, values in self.columns.items()}
        shares = None if self.shares is None else self.shares[index]
        return EncodedCorpus(self.tokens[where], offsets, attributes, columns, self.meta, self.per_token, shares)

    def _slice(self, first: int, last: int) -> EncodedCorpus:
        flat = slice(self.offsets[first], self.offsets[last])
        attributes = self.attributes[flat if self.per_token else slice(first, last)]
        columns = {name: values[first:last] for name, values in self.columns.items()}
        offsets = offsets_of(self.lengths[first:last])
        shares = None if self.shares is None else self.shares[first:last]
        return EncodedCorpus(self.tokens[flat], offsets, attributes, columns, self.meta, self.per_token, shares)
