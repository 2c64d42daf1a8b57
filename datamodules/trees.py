"""Binary trees as arrays, and batches for the encoders: trees level by level, texts padded.

n texts, T the longest of a batch.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.position import Position


@dataclass
class Trees:
    """Binary trees, nodes in preorder (a sentence's root first). Children are node numbers, −1 at the leaves."""

    left: np.ndarray
    right: np.ndarray
    label: np.ndarray
    word: np.ndarray  # token id at a leaf, −1 elsewhere
    height: np.ndarray
    bounds: np.ndarray  # nodes of sentence s: bounds[s] … bounds[s + 1]

    @classmethod
    def of(cls, nodes: EncodedCorpus) -> Trees:
        """The trees whose nodes, in preorder, are the documents of a corpus with columns `root` and `label`.

        Lengths alone tell the children: the left one follows its parent, the right one the left subtree, which has
        2 · length − 1 nodes.
        """
        length = nodes.lengths
        roots = np.flatnonzero(nodes.columns["root"])
        bounds = np.append(roots, len(nodes))
        if len(wrong := np.flatnonzero(np.diff(bounds) != 2 * length[roots] - 1)):
            raise AtdError(f"sentiment treebank: tree {wrong[0] + 1} is not binary; use the binarised release")
        inner = np.flatnonzero(length > 1)
        left = np.full(len(nodes), -1)
        left[inner] = inner + 1
        right = np.full(len(nodes), -1)
        right[inner] = inner + 2 * length[inner + 1]
        leaf = np.flatnonzero(length == 1)
        word = np.full(len(nodes), -1)
        word[leaf] = nodes.tokens[nodes.offsets[leaf]]
        height = np.zeros(len(nodes), dtype=np.int64)
        for size in range(2, int(length.max()) + 1):  # a node is longer than its children
            at = np.flatnonzero(length == size)
            height[at] = 1 + np.maximum(height[left[at]], height[right[at]])
        return cls(left, right, nodes.columns["label"], word, height, bounds)

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
        return Forest(
            word=torch.from_numpy(self.word[node[~inner]]),
            left=torch.from_numpy(place[(self.left[node] + shift)[inner]]),
            right=torch.from_numpy(place[(self.right[node] + shift)[inner]]),
            label=torch.from_numpy(self.label[node]),
            root=torch.from_numpy(place[first]),
            levels=np.bincount(self.height[node]).tolist(),
        )


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


class Batches(Position):
    """Batches of trees or texts in an order that depends on (seed, epoch) alone; a resumed run goes on midway."""

    def __init__(self, size: int, batch_size: int, seed: int, shuffle: bool):
        self.size = size
        self.batch_size = batch_size
        self.seed = seed
        self.shuffle = shuffle

    def __len__(self) -> int:
        return -(-self.size // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        start, self._start = self._start, 0
        batches = self.order()
        for position in range(start, len(self)):
            self.position = position + 1  # a checkpoint made while this batch is in use counts it as done
            yield self.batch(batches[position])

    def _identity(self) -> dict[str, Any]:
        return {"examples": self.size, "batch_size": self.batch_size, "seed": self.seed, "shuffle": self.shuffle}

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng((self.seed, self.epoch))

    def cut(self, order: np.ndarray) -> list[np.ndarray]:
        return [order[i : i + self.batch_size] for i in range(0, self.size, self.batch_size)]

    @abstractmethod
    def order(self) -> list[np.ndarray]:
        """What is in the batches of this epoch."""

    @abstractmethod
    def batch(self, rows: np.ndarray) -> Any: ...


class TreeLoader(Batches):
    """Yields a `Forest` of `batch_size` trees at a time."""

    def __init__(self, trees: Trees, batch_size: int, seed: int = 0, shuffle: bool = True):
        super().__init__(len(trees), batch_size, seed, shuffle)
        self.trees = trees

    def order(self) -> list[np.ndarray]:
        return self.cut(self.rng.permutation(self.size) if self.shuffle else np.arange(self.size))

    def batch(self, rows: np.ndarray) -> Forest:
        return self.trees.batch(rows)


class PhraseLoader(Batches):
    """Yields texts with columns `label` and `root` as `Padded`, those of about one length together."""

    def __init__(self, texts: EncodedCorpus, batch_size: int, seed: int = 0, shuffle: bool = True):
        super().__init__(len(texts), batch_size, seed, shuffle)
        self.texts = texts

    def order(self) -> list[np.ndarray]:
        if not self.shuffle:
            return self.cut(np.arange(self.size))
        rng = self.rng
        batches = self.cut(np.argsort(self.texts.lengths + rng.random(self.size)))
        return [batches[i] for i in rng.permutation(len(batches))]

    def batch(self, rows: np.ndarray) -> Padded:
        part = self.texts.take(rows)
        inside_nT = np.arange(part.lengths.max()) < part.lengths[:, None]
        word_nT = np.full(inside_nT.shape, -1, dtype=np.int64)
        word_nT[inside_nT] = part.tokens
        return Padded(
            word=torch.from_numpy(word_nT),
            label=torch.from_numpy(part.columns["label"]),
            root=torch.from_numpy(np.flatnonzero(part.columns["root"])),
        )
