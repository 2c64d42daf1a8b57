"""Texts of different lengths, one after another: flat tokens, and the offsets where each text begins.

n texts, T tokens of all of them, N context size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from atd.vocabulary import BOS_ID


@dataclass
class Ragged:
    """Text i is `tokens[offsets[i]:offsets[i + 1]]`."""

    tokens: np.ndarray  # T
    offsets: np.ndarray  # n+1, the first 0, the last T

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> np.ndarray:
        """The tokens of one text."""
        return self.tokens[self.offsets[i] : self.offsets[i + 1]]

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    @property
    def owner(self) -> np.ndarray:
        """The text that each token belongs to (T)."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @property
    def flat(self) -> tuple[Tensor, Tensor]:
        """(tokens, offsets) as tensors, the way `atd.inference` takes them."""
        return torch.from_numpy(self.tokens.astype(np.int64)), torch.from_numpy(self.offsets.astype(np.int64))

    def take(self, rows: np.ndarray) -> Self | Ragged:
        """Some of the texts, in the order of `rows`."""
        where, offsets = self.where(rows)
        return Ragged(self.tokens[where], offsets)

    def where(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the tokens of some texts lie, and the offsets of these texts when they are put one after another."""
        rows = np.asarray(rows, dtype=np.int64)
        first = self.offsets[rows]
        count = self.offsets[rows + 1] - first
        where = spans(torch.from_numpy(first), torch.from_numpy(count)).numpy()
        return where, offsets_of(count)

    def heads(self, words: int) -> Ragged:
        """The first words of every text."""
        count = np.minimum(self.lengths, words)
        where = spans(torch.from_numpy(self.offsets[:-1].copy()), torch.from_numpy(count)).numpy()
        return Ragged(self.tokens[where], offsets_of(count))

    def windows(self, N: int, at: np.ndarray | None = None) -> np.ndarray:
        """The N tokens before each token (T×N), or before those at some places."""
        at = np.arange(len(self.tokens)) if at is None else at
        start = self.offsets[np.searchsorted(self.offsets, at, side="right") - 1]
        return windows(self.tokens, at, start, N)


def offsets_of(lengths: np.ndarray | list[int]) -> np.ndarray:
    """Where texts of these lengths begin when they are put one after another, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def spans(first_n: Tensor, count_n: Tensor) -> Tensor:
    """The numbers first, first + 1, … of every text, `count` of them each, text after text."""
    before_n = count_n.cumsum(0) - count_n
    steps = torch.arange(int(count_n.sum()), device=count_n.device)
    return steps + torch.repeat_interleave(first_n - before_n, count_n)


def windows(tokens: np.ndarray, at: np.ndarray, start: np.ndarray, N: int) -> np.ndarray:
    """The N tokens before each place in `at` (B×N, int64); `<s>` before the start of the text it lies in.

    A column at a time is twice as fast as one look-up with a B×N index.
    """
    context_BN = np.empty((len(at), N), dtype=np.int64)
    for j in range(N):
        context_BN[:, j] = tokens.take(at + (j - N), mode="wrap")
    near = np.flatnonzero(at - start < N)  # the few that reach back beyond their text
    missing = N - (at - start)[near, None]
    context_BN[near] = np.where(np.arange(N) < missing, BOS_ID, context_BN[near])
    return context_BN
