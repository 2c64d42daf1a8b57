"""The words a model knows: ids, counts, and what to do with a word it does not know."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from atd.errors import AtdError

UNK = "<unk>"
BOS = "<s>"
NUM = "<#>"
SPECIALS = (UNK, BOS, NUM)
UNK_ID = 0
BOS_ID = 1
NUM_ID = 2


class Vocabulary:
    """Words and their counts. Ids 0, 1, 2 are `<unk>`, `<s>` (text start, padding) and `<#>` (any number)."""

    def __init__(self, words: Sequence[str], counts: Sequence[int] | np.ndarray):
        if tuple(words[:3]) != SPECIALS:
            raise AtdError(f"a vocabulary starts with {' '.join(SPECIALS)}, got {' '.join(words[:3])!r}")
        if len(words) != len(counts):
            raise AtdError(f"a vocabulary of {len(words)} words needs as many counts, got {len(counts)}")
        self.words = list(words)
        self.counts = np.asarray(counts, dtype=np.int64)
        self.index = {word: i for i, word in enumerate(self.words)}
        if len(self.index) != len(self.words):
            raise AtdError("a vocabulary holds every word once")

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[str, int],
        min_count: int = 1,
        max_size: int | None = None,
        old: Vocabulary | None = None,
    ) -> Vocabulary:
        """The words seen at least `min_count` times, most frequent first, at most `max_size` with specials.

        Those of an `old` vocabulary come before, in their places, however rare. Their old counts are added.
        """
        old = old or cls(SPECIALS, [0] * len(SPECIALS))
        new = [word for word, n in counts.items() if n >= min_count and word not in old.index]
        count = np.fromiter(map(counts.__getitem__, new), np.int64, len(new))
        order = _by_count(new, count)[: None if max_size is None else max(0, max_size - len(old))]
        new = [new[i] for i in order.tolist()]
        again = np.array([counts.get(word, 0) for word in old.words])
        again[UNK_ID] = sum(counts.values()) - again[UNK_ID + 1 :].sum() - count[order].sum()
        return cls([*old.words, *new], np.concatenate([old.counts + again, count[order]]))

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self.index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.words == other.words

    def encode(self, tokens: Iterable[str]) -> np.ndarray:
        """Ids of `tokens` as int64; unknown words become `<unk>`."""
        return np.fromiter((self.index.get(t, UNK_ID) for t in tokens), dtype=np.int64)

    def decode(self, ids: Iterable[int]) -> list[str]:
        return [self.words[int(i)] for i in ids]

    def id(self, word: str) -> int:
        """The id of a word the user named; an unknown one is an error that offers near spellings."""
        if word in self.index:
            return self.index[word]
        near = self.nearest_spelling(word)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise AtdError(f"the word {word!r} is not in the vocabulary of {len(self)} words{hint}")

    def nearest_spelling(self, word: str, n: int = 3) -> list[str]:
        return difflib.get_close_matches(word, self.words[len(SPECIALS) :], n=n, cutoff=0.6)

    def state(self) -> dict[str, list]:
        """Plain lists, so that a checkpoint holding them loads with `weights_only`."""
        return {"words": self.words, "counts": self.counts.tolist()}

    @classmethod
    def from_state(cls, state: Mapping[str, list]) -> Vocabulary:
        return cls(state["words"], state["counts"])


def _by_count(words: list[str], count: np.ndarray) -> np.ndarray:
    """The order of words, most frequent first, those of one count by their spelling. Arrow sorts faster."""
    try:
        import pyarrow as pa
        import pyarrow.compute as pc

        table = pa.table({"count": count, "word": pa.array(words, pa.large_string())})
        return pc.sort_indices(table, [("count", "descending"), ("word", "ascending")]).to_numpy()
    except (ModuleNotFoundError, UnicodeError):  # no Arrow, or half a pair of surrogates
        return np.array(sorted(range(len(words)), key=lambda i: (-count[i], words[i])), np.int64)
