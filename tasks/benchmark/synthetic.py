"""Text by the numbers: word frequencies fall as in real text, and attributes prefer words of their own.

B batch, N context, V vocabulary, A attributes, n texts.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import torch

from atd.vocabulary import SPECIALS, Vocabulary
from atd.windows import WindowBatch

TOPICS = 20


@cache
def word_counts(V: int) -> np.ndarray:
    """Zipf's law with an offset of 2.7, as fitted to running text by Mandelbrot; the most frequent word first."""
    return (1e8 / (np.arange(V) + 3.7)).astype(np.int64)


def tokens(n: int, V: int, seed: int = 0) -> np.ndarray:
    """n words drawn independently."""
    share = np.cumsum(word_counts(V))
    return np.searchsorted(share, np.random.default_rng(seed).integers(0, share[-1], n), side="right")


def batch(B: int, N: int, V: int, A: int, device: torch.device, seed: int = 0) -> WindowBatch:
    words = torch.from_numpy(tokens(B * (N + 1), V, seed)).view(B, N + 1).to(device)
    attribute = torch.from_numpy(np.random.default_rng(seed).integers(0, A, B)).to(device)
    return WindowBatch(words[:, :N].contiguous(), words[:, N].contiguous(), attribute)


def texts(n: int, words: int, V: int, A: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(tokens, offsets, attribute of each text); lengths vary around `words`.

    Every attribute likes three of twenty topics eight times as much as the others; a word belongs to one topic.
    """
    random = np.random.default_rng(seed)
    attribute = random.integers(0, A, n)
    lengths = np.maximum(random.poisson(words, n), 2)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    owner = np.repeat(attribute, lengths)
    out = np.empty(len(owner), dtype=np.int64)
    counts = word_counts(V).astype(float)
    for a, liked in enumerate(liked_topics(A)):
        liking = np.where(liked, 8, 1)
        share = np.cumsum(counts * liking[np.arange(V) % TOPICS])
        mine = owner == a
        out[mine] = np.searchsorted(share, random.random(mine.sum()) * share[-1], side="right")
    return np.maximum(out, len(SPECIALS)), offsets, attribute


def liked_topics(A: int) -> np.ndarray:
    """Which three topics every attribute likes (A×20, bool)."""
    out = np.zeros((A, TOPICS), dtype=bool)
    for a in range(A):
        out[a, np.random.default_rng((1, a)).choice(TOPICS, 3, replace=False)] = True
    return out


def vocabulary(V: int) -> Vocabulary:
    counts = {f"w{i}": int(c) for i, c in enumerate(word_counts(V)[len(SPECIALS) :])}
    return Vocabulary.from_counts(counts)


def strings(flat: np.ndarray, offsets: np.ndarray) -> list[list[str]]:
    """The same texts as lists of words, for libraries that read those."""
    names = np.array([f"w{i}" for i in range(int(flat.max()) + 1)], dtype=object)[flat]
    return [part.tolist() for part in np.split(names, offsets[1:-1])]
