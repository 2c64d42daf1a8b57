"""Texts and trees as arrays, and batches of them: trees level by level, texts padded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from atd.ragged import Ragged


@dataclass
class Texts(Ragged):
    """Some texts with one label and one attribute id each."""

    label: np.ndarray
    attributes: np.ndarray
    per_token: bool = False

    def take(self, rows: np.ndarray) -> Texts:
        where, offsets = self.where(rows)
        return Texts(self.tokens[where], offsets, self.label[rows], self.attributes[rows])


@dataclass
class Trees:
    """Binary trees, nodes in preorder (a sentence's root first). Children are node numbers, −1 at the leaves."""

    left: np.ndarray
    right: np.ndarray
    label: np.ndarray
    word: np.ndarray  # token id at a leaf, −1 elsewhere
    height: np.ndarray
    bounds: np.ndarray  # nodes of sentence s: bounds[s] … bounds[s + 1]

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def batch(self, sentences: np.ndarray) -> Forest:
        """The nodes of some sentences, sorted by height, so that a level is composed at once."""
        count = np.diff(self.bounds)[sentences]
        first = np.cumsum(count) - count
        shift = np.repeat(first - self.bounds[:-1][sentences], count)
        node = np.arange(count.sum()) - shift
        order = np.argsort(self.height[node], kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        node, shift = node[order], shift[order]
        inner = self.left[node] >= 0
        left, right = (place[(child[node] + shift)[inner]] for child in (self.left, self.right))
        levels = np.bincount(self.height[node]).tolist()
        parts = (self.word[node[~inner]], left, right, self.label[node], place[first])
        return Forest(*(torch.from_numpy(part) for part in parts), levels=levels)


@dataclass
class Forest:
    """A batch of trees: leaves first, then level by level. `root` finds the sentences."""

    word: torch.Tensor
    left: torch.Tensor  # of the inner nodes
    right: torch.Tensor
    label: torch.Tensor
    root: torch.Tensor
    levels: list[int]  # nodes per level; the leaves are level 0

    @property
    def inputs(self) -> tuple:
        """What `TreeEncoder` takes."""
        return self.word, self.left, self.right, self.levels


@dataclass
class Padded:
    """A batch of texts of about one length, padded with −1. `root` finds the whole sentences."""

    word: torch.Tensor  # n×T
    label: torch.Tensor
    root: torch.Tensor

    @property
    def inputs(self) -> tuple:
        """What `ContextEncoder` takes."""
        return (self.word,)


class TreeLoader:
    """Batches of trees in an order that depends on (seed, epoch) alone."""

    def __init__(self, trees: Trees, batch_size: int, seed: int = 0, shuffle: bool = True):
        self.trees, self.batch_size, self.seed, self.shuffle = trees, batch_size, seed, shuffle
        self.epoch = 0

    batch_sampler = None

    @property
    def sampler(self) -> TreeLoader:
        return self

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        return -(-len(self.trees) // self.batch_size)

    def __iter__(self) -> Iterator[Forest]:
        order = np.arange(len(self.trees))
        if self.shuffle:
            order = np.random.default_rng((self.seed, self.epoch)).permutation(len(order))
        for i in range(0, len(order), self.batch_size):
            yield self.trees.batch(order[i : i + self.batch_size])


class PhraseLoader(TreeLoader):
    """Batches of phrases of about one length; `whole` marks those that are sentences."""

    def __init__(self, texts: Texts, whole: np.ndarray, batch_size: int, seed: int = 0, shuffle: bool = True):
        self.texts, self.whole, self.batch_size, self.seed, self.shuffle = texts, whole, batch_size, seed, shuffle
        self.epoch = 0

    def __len__(self) -> int:
        return -(-len(self.texts) // self.batch_size)

    def __iter__(self) -> Iterator[Padded]:
        order = np.arange(len(self.texts))
        starts = np.arange(0, len(order), self.batch_size)
        if self.shuffle:
            rng = np.random.default_rng((self.seed, self.epoch))
            order = np.argsort(self.texts.lengths + rng.random(len(order)))
            starts = rng.permutation(starts)
        for i in starts:
            yield self._pad(order[i : i + self.batch_size])

    def _pad(self, rows: np.ndarray) -> Padded:
        part = self.texts.take(rows)
        inside = np.arange(part.lengths.max()) < part.lengths[:, None]
        word = np.full(inside.shape, -1, dtype=np.int64)
        word[inside] = part.tokens
        arrays = word, part.label, np.flatnonzero(self.whole[rows])
        return Padded(*(torch.from_numpy(a) for a in arrays))
