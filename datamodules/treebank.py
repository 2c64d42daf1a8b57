"""The sentiment treebank as arrays: sentences, the phrases inside them, and the trees that join the phrases.

Sentences and phrases are `Texts` (flat tokens, offsets, labels); a split's trees are `Trees` (nodes in preorder).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from atd.errors import AtdError
from atd.induction import induce
from atd.pretrained import read_vectors
from atd.vocabulary import BOS_ID, UNK_ID, Vocabulary
from datamodules.readers.trees import SPLITS, read_trees


@dataclass
class Texts:
    """Some texts: flat int32 tokens, offsets (n+1), one label and one attribute id each."""

    tokens: np.ndarray
    offsets: np.ndarray
    label: np.ndarray
    attributes: np.ndarray
    per_token: bool = False

    def __len__(self) -> int:
        return len(self.label)

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    @property
    def flat(self) -> tuple[torch.Tensor, torch.Tensor]:
        """(tokens, offsets) as tensors, the way `atd.infer` takes them."""
        return torch.from_numpy(self.tokens.astype(np.int64)), torch.from_numpy(self.offsets)

    def take(self, rows: np.ndarray) -> Texts:
        count = self.lengths[rows]
        offsets = np.concatenate([[0], np.cumsum(count)])
        where = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][rows] - offsets[:-1], count)
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


@dataclass
class Treebank:
    vocabulary: Vocabulary
    vectors: torch.Tensor  # V×K
    coverage: float  # share of running words with a pretrained vector
    sentences: dict[str, Texts]
    trees: dict[str, Trees]
    phrases: Texts  # every distinct phrase of the training sentences
    whole: np.ndarray  # which phrases are whole sentences


def load_treebank(data: str | Path, vectors: str | Path) -> Treebank:
    """Read the three splits. The vocabulary is every word of train, and those of dev and test with a vector."""
    tables = {split: read_trees(data, split) for split in SPLITS}
    texts = {s: [t.lower() for t in table["text"].to_pylist()] for s, table in tables.items()}
    roots = {s: np.flatnonzero(table["root"].to_numpy()) for s, table in tables.items()}
    counts: dict[str, int] = {}
    for split in SPLITS:
        for r in roots[split]:
            for word in texts[split][r].split(" "):
                counts[word] = counts.get(word, 0) + (split == "train")
    vocabulary = Vocabulary.from_counts(counts, min_count=0)
    start, coverage = read_vectors(vectors, vocabulary)
    has = (start != start[BOS_ID]).any(1).numpy()  # a word without a vector shares the default row
    known = has | (vocabulary.counts > 0)

    def encode(lines: list[str]) -> tuple[np.ndarray, np.ndarray]:
        words = [line.split(" ") for line in lines]
        flat = vocabulary.encode(w for line in words for w in line)
        offsets = np.concatenate([[0], np.cumsum([len(line) for line in words])]).astype(np.int64)
        return np.where(known[flat], flat, UNK_ID).astype(np.int32), offsets

    sentences, trees = {}, {}
    for split, table in tables.items():
        label = table["label"].to_numpy().astype(np.int64)
        tokens, offsets = encode([texts[split][r] for r in roots[split]])
        n = len(roots[split])
        sentences[split] = Texts(tokens, offsets, label[roots[split]], np.arange(n, dtype=np.int32))
        trees[split] = _trees(table, label, roots[split], sentences[split])
    phrases, whole = _phrases(texts["train"], tables["train"], encode)
    start = induce(start, torch.from_numpy(has), *sentences["train"].flat)
    return Treebank(vocabulary, start, coverage, sentences, trees, phrases, whole)


def _trees(table, label: np.ndarray, roots: np.ndarray, sentences: Texts) -> Trees:
    """Children from lengths alone: in preorder the left child follows its parent, the right one the left subtree."""
    length = table["length"].to_numpy().astype(np.int64)
    sentence = table["sentence"].to_numpy()
    bounds = np.append(roots, len(length)).astype(np.int64)
    if (np.diff(bounds) != 2 * length[roots] - 1).any():
        bad = int(np.flatnonzero(np.diff(bounds) != 2 * length[roots] - 1)[0])
        raise AtdError(f"sentiment treebank: tree {bad + 1} is not binary; use the binarised release")
    inner = np.flatnonzero(length > 1)
    left, right = np.full(len(length), -1), np.full(len(length), -1)
    left[inner] = inner + 1
    right[inner] = inner + 2 * length[inner + 1]
    word = np.full(len(length), -1)
    leaf = length == 1
    word[leaf] = sentences.tokens[(sentences.offsets[:-1][sentence] + table["start"].to_numpy())[leaf]]
    height = np.zeros(len(length), dtype=np.int64)
    for size in range(2, int(length.max()) + 1):  # a node is longer than its children
        at = np.flatnonzero(length == size)
        height[at] = 1 + np.maximum(height[left[at]], height[right[at]])
    return Trees(left, right, label, word, height, bounds)


def _phrases(texts: list[str], table, encode) -> tuple[Texts, np.ndarray]:
    """Distinct phrases in order of first occurrence, labelled by the rounded mean of their occurrences."""
    index: dict[str, int] = {}
    which = np.array([index.setdefault(text, len(index)) for text in texts])
    total = np.bincount(which, weights=table["label"].to_numpy().astype(float))
    label = np.rint(total / np.bincount(which)).astype(np.int64)
    whole = np.zeros(len(index), dtype=bool)
    whole[which[table["root"].to_numpy()]] = True
    tokens, offsets = encode(list(index))
    return Texts(tokens, offsets, label, np.arange(len(index), dtype=np.int32)), whole


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


def cut(bank: Treebank, train: int, held_out: int) -> Treebank:
    """A smaller treebank of the first sentences of each split, for trials."""
    size = {"train": train, "dev": held_out, "test": held_out}
    sentences = {s: t.take(np.arange(min(size[s], len(t)))) for s, t in bank.sentences.items()}
    trees = {}
    for s, t in bank.trees.items():
        n = len(sentences[s])
        m = t.bounds[n]
        trees[s] = Trees(t.left[:m], t.right[:m], t.label[:m], t.word[:m], t.height[:m], t.bounds[: n + 1])
    kept = np.flatnonzero(bank.whole)[:train].max() + 1 if train < len(bank.sentences["train"]) else len(bank.whole)
    phrases = bank.phrases.take(np.arange(kept))
    return replace(bank, sentences=sentences, trees=trees, phrases=phrases, whole=bank.whole[:kept])
