"""The sentiment treebank as arrays: sentences, the phrases inside them, and the trees that join the phrases.

Sentences and phrases are `Texts`, the trees of a split `Trees` (see `datamodules.trees`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from atd.a_la_carte import induce
from atd.errors import AtdError
from atd.pretrained import read_vectors
from atd.vocabulary import BOS_ID, UNK_ID, Vocabulary
from datamodules.readers.trees import SPLITS, read_trees
from datamodules.trees import Texts, Trees


@dataclass
class Parses:
    vocabulary: Vocabulary
    vectors: torch.Tensor  # V×K
    coverage: float  # share of running words with a pretrained vector
    sentences: dict[str, Texts]
    trees: dict[str, Trees]
    phrases: Texts  # every distinct phrase of the training sentences
    whole: np.ndarray  # which phrases are whole sentences


def load_parses(data: str | Path, vectors: str | Path | None, K: int) -> Parses:
    """Read the three splits. The vocabulary is every word of train, and those of dev and test with a vector.

    Without a file of vectors (K numbers per word) they start at random.
    """
    tables = {split: read_trees(data, split) for split in SPLITS}
    texts = {s: [t.lower() for t in table["text"].to_pylist()] for s, table in tables.items()}
    roots = {s: np.flatnonzero(table["root"].to_numpy()) for s, table in tables.items()}
    counts: dict[str, int] = {}
    for split in SPLITS:
        for r in roots[split]:
            for word in texts[split][r].split(" "):
                counts[word] = counts.get(word, 0) + (split == "train")
    vocabulary = Vocabulary.from_counts(counts, min_count=0)
    start, has, coverage = _start(vectors, vocabulary, K)
    known = has.numpy() | (vocabulary.counts > 0)

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
    if has.any():
        start = induce(start, has, *sentences["train"].flat)
    return Parses(vocabulary, start, coverage, sentences, trees, phrases, whole)


def _start(path: str | Path | None, vocabulary: Vocabulary, K: int) -> tuple[torch.Tensor, torch.Tensor, float]:
    """Word vectors (V×K), which of them are pretrained, and their share of the running words."""
    if path is None:
        start = 0.4 * torch.randn(len(vocabulary), K, generator=torch.Generator().manual_seed(0))
        return start, torch.zeros(len(vocabulary), dtype=torch.bool), 0.0
    start, coverage = read_vectors(path, vocabulary)
    if start.shape[1] != K:
        raise AtdError(f"model.K={K}: {path} holds vectors of dimension {start.shape[1]}")
    return start, (start != start[BOS_ID]).any(1), coverage  # words without a vector share the default row


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


def cut(bank: Parses, train: int, held_out: int) -> Parses:
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
