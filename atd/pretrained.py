"""Pretrained word vectors for the words of a vocabulary.

From GloVe and word2vec text, word2vec binary and Turian's format, plain or gzip, and from every file of vectors that
`atd.vector_files` reads: safetensors, Parquet, Arrow, CSV, a projector's folder.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from atd.errors import AtdError
from atd.vector_files import lookup
from atd.vocabulary import Vocabulary

UNKNOWN = ("*UNKNOWN*", "<unk>", "UNK", "unk")  # Turian, GloVe and word2vec spellings of an unknown word


def read_vectors(path: str | Path, vocabulary: Vocabulary) -> tuple[Tensor, float]:
    """Vectors for every word of the vocabulary (V×K), and the share of running words that had one."""
    vectors_VK, has_V = find_vectors(path, vocabulary)
    return vectors_VK, coverage(has_V, vocabulary)


def coverage(has_V: np.ndarray, vocabulary: Vocabulary) -> float:
    """The share of running words that have a vector."""
    return float(vocabulary.counts[has_V].sum() / max(1, vocabulary.counts.sum()))


def find_vectors(path: str | Path, vocabulary: Vocabulary) -> tuple[Tensor, np.ndarray]:
    """Vectors for every word of the vocabulary (V×K), and which words have one of their own (V).

    A word is looked up as it stands, then in lower case. Words without a vector take the file's unknown-word
    vector, or else the mean of all vectors found: a start amid the others rather than at zero.
    """
    found = lookup(path, set(vocabulary.words) | {w.lower() for w in vocabulary.words} | set(UNKNOWN))
    rows = [found.get(w, found.get(w.lower())) for w in vocabulary.words]
    known = [row for row in rows if row is not None]
    if not known:
        raise AtdError(f"{path}: none of the {len(vocabulary)} vocabulary words is in it; is it the right language?")
    default = next((found[u] for u in UNKNOWN if u in found), np.mean(known, axis=0))
    matrix = np.stack([default if row is None else row for row in rows])
    has = np.array([row is not None for row in rows])
    return torch.from_numpy(matrix.astype(np.float32)), has
