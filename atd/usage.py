"""How often each word is used under each attribute, and in how many documents: what similarity and effects rest on.

V vocabulary, A attributes, n documents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from atd.encoded import EncodedCorpus


@dataclass(frozen=True)
class Usage:
    """The words in use, row after row: `attribute[start_V[w] : start_V[w + 1]]` are those that word w occurs under."""

    start_V: np.ndarray  # V+1
    attribute: np.ndarray
    count: np.ndarray  # words of training text
    documents_V: np.ndarray  # that a word occurs in

    @classmethod
    def of(cls, texts: EncodedCorpus, V: int, A: int) -> Usage:
        token_attributes = texts.attributes if texts.per_token else texts.attributes[texts.owner]
        pairs, counts = [], []
        shares = None if texts.shares is None else texts.shares[texts.owner]
        columns = token_attributes.reshape(len(texts.tokens), -1)
        for m in range(columns.shape[1]):
            key = texts.tokens.astype(np.int64) * A + columns[:, m]
            found, place = np.unique(key, return_inverse=True)
            pairs.append(found)
            counts.append(np.bincount(place, None if shares is None else shares[:, m], len(found)))
        key, place = np.unique(np.concatenate(pairs), return_inverse=True)
        count = np.bincount(place, np.concatenate(counts), len(key))
        key, count = key[count > 0], count[count > 0]
        start_V = np.searchsorted(key, np.arange(V + 1) * A)
        owner_and_word = np.unique(texts.owner.astype(np.int64) * V + texts.tokens)
        documents_V = np.bincount(owner_and_word % V, minlength=V)
        return cls(start_V, (key % A).astype(np.int32), count.astype(np.float32), documents_V.astype(np.int32))

    def under(self, shares_A: np.ndarray) -> np.ndarray:
        """How often every word occurs under some attributes, each counted by its share (V)."""
        word = np.repeat(np.arange(len(self.start_V) - 1), np.diff(self.start_V))
        return np.bincount(word, self.count * shares_A[self.attribute], len(self.start_V) - 1)

    def state(self) -> dict[str, Any]:
        """As tensors, for a checkpoint."""
        return {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in vars(self).items()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Usage:
        return cls(**{name: value.numpy() for name, value in state.items()})
