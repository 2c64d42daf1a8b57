"""The same verses in hundreds of languages, as bags of letter n-grams: the attribute of a verse is its language.

M meanings (verses), A languages, V units.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.ragged import offsets_of
from atd.settings import optional, whole
from atd.vocabulary import SPECIALS, Vocabulary
from datamodules.corpus import Corpus, by_split, sample_folder
from datamodules.letter_ngrams import BASE, latin, ngrams, number, spelt
from datamodules.readers import world
from datamodules.verse_batches import VerseLoader

FIRST = len(SPECIALS)  # the id of the first unit
HELD = 20  # one verse of so many is for validation, one for test; each language has others


class Verses(Corpus):
    """A document is a verse in a language, its words are letter n-grams; of every twenty two are held out.

    All scripts are written in Latin letters first, so that languages in different scripts can be alike.

    - `n`: letters of an n-gram; a blank stands before and after every word.
    - `max_size`: the commonest n-grams that are kept.
    - `languages`: so many of them, taken evenly from the list, which follows the tree; None = all.
    - `batch_size`: languages of a batch, each with all its verses.
    - `sample`: languages of our own making, in place of the files under `path`.
    """

    def __init__(
        self,
        *,
        n: Annotated[int, whole(1, 4)] = 3,
        languages: Annotated[int | None, optional(whole(2))] = None,
        sample: bool = False,
        **common: Any,
    ):
        super().__init__(**common)
        self.n = n
        self.languages = languages
        self.path = sample_folder(self.cache) / "world" if sample else self.path

    def inputs(self) -> list[Path]:
        return [world.require(self.path, name).path for name in ("texts.tsv", "languages.tsv")]

    def settings(self) -> dict[str, Any]:
        return {"n": self.n, "languages": self.languages}

    def build(self) -> EncodedCorpus:
        table = world.read_verses(self.path)
        parts = evenly(by_language(table), self.languages)
        self._refuse_unknown([iso for iso, _ in parts])
        grams = [ngrams(latin(part["text"].to_pylist()), self.n) for _, part in parts]
        vocabulary = self._counted([ids for ids, _ in grams])
        place = np.full(BASE**self.n, -1, np.int32)
        for i, word in enumerate(vocabulary.words[FIRST:], FIRST):
            place[number(word)] = i
        tokens, lengths = zip(*(known_units(*found, place) for found in grams), strict=True)
        verse_of = {verse: m for m, verse in enumerate(dict.fromkeys(table["verse"].to_pylist()))}
        meaning = np.concatenate([[verse_of[verse] for verse in part["verse"].to_pylist()] for _, part in parts])
        language = np.repeat(np.arange(len(parts)), [len(part) for _, part in parts])
        split = held_out(meaning, language)
        corpus = EncodedCorpus(
            tokens=np.concatenate(tokens),
            offsets=offsets_of(np.concatenate(lengths)),
            attributes=language.astype(np.int32),
            columns={"split": split, "meaning": meaning.astype(np.int32)},
            meta={
                "vocabulary": vocabulary.state(),
                "attributes": [iso for iso, _ in parts],
                "column": "language",
                "meanings": len(verse_of),
            },
        )
        return corpus.take(by_split(split))

    def _refuse_unknown(self, codes: Sequence[str]) -> None:
        known = world.read_languages(self.path)
        unknown = next((iso for iso in codes if iso not in known), None)
        if unknown is not None:
            raise AtdError(f"{self.path}: languages.tsv says nothing of {unknown!r}, which texts.tsv has; add its line")

    def _counted(self, grams: Sequence[np.ndarray]) -> Vocabulary:
        count = np.zeros(BASE**self.n, np.int64)
        for ids in grams:
            count += np.bincount(ids, minlength=len(count))
        found = {spelt(int(i), self.n): int(count[i]) for i in np.flatnonzero(count)}
        return Vocabulary.from_counts(found, self.min_count, self.max_size)

    @property
    def meanings(self) -> int:
        return self.encoded["train"].meta["meanings"]

    @property
    def units(self) -> int:
        return len(self.vocabulary) - FIRST

    def letter_counts(self) -> Tensor:
        """How often the training text of each language has each unit (A×V)."""
        texts = self.encoded["train"]
        A, V = len(self.attributes), self.units
        language_T = np.repeat(texts.attributes.astype(np.int64), texts.lengths)
        count = np.bincount(language_T * V + texts.tokens - FIRST, minlength=A * V)
        return torch.from_numpy(count.reshape(A, V).astype(np.float32))

    def profiles(self) -> list[np.ndarray]:
        """Shares of all 1-grams, 2-grams … n-grams in the text of each language (A×…)."""
        of = dict(by_language(world.read_verses(self.path)))
        shares: list[list[np.ndarray]] = [[] for _ in range(self.n)]
        for iso in self.attributes:
            texts = latin(of[iso]["text"].to_pylist())
            for n, found in enumerate(shares, 1):
                count = np.bincount(ngrams(texts, n)[0], minlength=BASE**n)
                found.append((count / max(count.sum(), 1)).astype(np.float32))
        return [np.stack(found) for found in shares]

    def train_dataloader(self) -> VerseLoader:  # type: ignore[override]
        loader = self.batches_of("train", self.seed)
        saved, self._saved = self._saved, None
        if saved:
            loader.load_state_dict(saved)
        return loader

    def val_dataloader(self) -> VerseLoader:  # type: ignore[override]
        return self.batches_of("val")

    def batches_of(self, split: str, seed: int | None = None) -> VerseLoader:
        return VerseLoader(self.encoded[split], self.units, FIRST, self.batch_size, seed, self.shuffled)

    def state_dict(self) -> dict[str, Any]:
        loader = self.trainer.train_dataloader if self.trainer else None
        return {"train": loader.state_dict()} if isinstance(loader, VerseLoader) else {}

    def setup(self, stage: str | None = None) -> None:
        """Gates dealt at random are the loader's business: the letters of a language stay its own."""
        dealt, self.shuffled = self.shuffled, None
        super().setup(stage)
        self.shuffled = dealt


def by_language(table: pa.Table) -> list[tuple[str, pa.Table]]:
    """The verses of each language, as the file has them."""
    codes, first, many = np.unique(table["iso"].to_numpy(), return_index=True, return_counts=True)
    return [(str(codes[i]), table.slice(first[i], many[i])) for i in np.argsort(first)]


def evenly(parts: list, most: int | None) -> list:
    """All, or so many at even distances."""
    if most is None or most >= len(parts):
        return parts
    return [parts[i * len(parts) // most] for i in range(most)]


def held_out(meaning: np.ndarray, language: np.ndarray) -> np.ndarray:
    """The part of each verse: 0 train, 1 val, 2 test. Neighbouring languages hold out others."""
    turn = (7 * meaning + 13 * language) % HELD
    return np.where(turn == 0, 1, np.where(turn == HELD // 2, 2, 0)).astype(np.int8)


def known_units(ids: np.ndarray, lengths: np.ndarray, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Units of the vocabulary alone, and how many every text has of them."""
    unit_T = place[ids]
    owner_T = np.repeat(np.arange(len(lengths)), lengths)
    kept = unit_T >= 0
    return unit_T[kept], np.bincount(owner_T[kept], minlength=len(lengths))
