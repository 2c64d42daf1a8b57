"""Character n-grams of words, hashed into a fixed number of rows: what rare words and cognates share.

V words, U of them. "union" is read as ⟨union⟩ and has the 4-grams ⟨uni unio nion ion⟩, and itself as a whole.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from itertools import repeat

import numpy as np

from atd.bags import Bags
from atd.ragged import Ragged, offsets_of
from atd.vocabulary import SPECIALS


class Spelling:
    """The n-grams of every word, `ngrams[w]`, as numbers below `buckets`.

    `salts` (one per word) keep words of different salt apart: no bucket is shared on purpose across languages.
    """

    def __init__(
        self,
        words: Iterable[str],
        lengths: Sequence[int] = (4, 5),
        buckets: int = 1 << 18,
        salts: Iterable[str] | None = None,
    ):
        self.buckets = buckets
        salted = zip(words, repeat("") if salts is None else salts, strict=False)
        found = [hashed(word, lengths, buckets, salt) for word, salt in salted]
        flat = np.array([g for grams in found for g in grams], dtype=np.int64)
        self.ngrams = Ragged(flat, offsets_of([len(grams) for grams in found]))

    def bags(self, words_U: np.ndarray) -> Bags:
        """The n-grams of some words, one bag each."""
        return Bags.of(self.ngrams.take(words_U), self.buckets)


def ngrams(word: str, lengths: Sequence[int]) -> list[str]:
    """The n-grams of ⟨word⟩ and the whole; a special word such as `<unk>` has none."""
    if word in SPECIALS:
        return []
    marked = f"<{word}>"
    parts = [marked[i : i + n] for n in lengths for i in range(len(marked) - n + 1)]
    return [marked, *(part for part in parts if part != marked)]


def hashed(word: str, lengths: Sequence[int], buckets: int, salt: str = "") -> list[int]:
    return [zlib.crc32((salt + gram).encode()) % buckets for gram in ngrams(word, lengths)]
