"""Books: NLTK's selection of Project Gutenberg, or any folder of text files laid out like it.

The attribute of a text is its book, or the part of speech of the word to be predicted. A document is a chapter; of
every book whole chapters are held out for validation and test, the same ones whatever the seed.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.settings import number, one_of, read
from datamodules.cache import fingerprint, open_or_build
from datamodules.corpus import Corpus, by_split, sample_folder
from datamodules.download import fetch
from datamodules.encode import count_vocabulary, ids
from datamodules.readers.books import find_books, read_books
from datamodules.readers.folder import blocks
from datamodules.sentences import split_all
from datamodules.tagger import Recipe, Tagger, load_tagger, tagger_key, trained_tagger

ATTRIBUTES = ("book", "pos")
FEW = 10  # a book of fewer chapters is cut into blocks, so that a tenth of it can be held out
BLOCK = 1000  # words


class Gutenberg(Corpus):
    """`attribute`: book or pos. `holdout`: the share of each book kept for validation, and as much again for test.
    `sentences`: a document is a sentence, so that no context reaches into the one before. `sample`: books of our own,
    generated on first use, in place of those under `path`. `tagger`: settings of `tagger.Recipe`."""

    def __init__(
        self,
        *,
        attribute: Annotated[str, one_of(*ATTRIBUTES)] = "book",
        holdout: Annotated[float, number(0, 0.3, open_low=True)] = 0.1,
        sentences: bool = False,
        sample: bool = False,
        tagger: Mapping[str, Any] | None = None,
        **common: Any,
    ):
        super().__init__(**common)
        self.attribute = attribute
        self.holdout = holdout
        self.sentences = sentences
        self.sample = sample
        self.recipe = read(Recipe, asdict(Recipe()) | dict(tagger or {}), "data.tagger")

    def inputs(self) -> list[Path]:
        if self.sample:
            self.path = sample_folder(self.cache)
        try:
            found = find_books(self.path)
        except AtdError:
            fetch("gutenberg", self.path)
            found = find_books(self.path)
        return [found] if found.is_file() else sorted(found.rglob("*.txt"))

    def settings(self) -> dict[str, Any]:
        chosen = {"attribute": self.attribute, "holdout": self.holdout, "sentences": self.sentences}
        if self.attribute == "pos":
            chosen["tagger"] = tagger_key(self.path, self.recipe, self.tokeniser.language)
        return chosen

    def build(self) -> EncodedCorpus:
        table = read_books(self.path)
        texts, book, split = self._documents(table)
        tokens = self.tokeniser.folded(texts)
        vocabulary = count_vocabulary(tokens, self.min_count, self.max_size, documents=split == 0)
        attributes, meta = book, {"attributes": table["book"].unique().to_pylist(), "column": "book"}
        if self.attribute == "pos":
            tags = self._tags(table)
            attributes, meta = tags.tokens, tags.meta
        corpus = EncodedCorpus(
            ids(tokens, vocabulary),
            tokens.offsets,
            attributes,
            columns={"split": split, "book": book},
            meta={"vocabulary": vocabulary.state(), **meta},
            per_token=self.attribute == "pos",
        )
        return corpus.take(by_split(split))

    def _documents(self, table: pa.Table) -> tuple[pa.Array, np.ndarray, np.ndarray]:
        """(texts, book ids, splits) in reading order."""
        texts: list[str] = []
        book: list[int] = []
        split: list[int] = []
        for i, name in enumerate(table["book"].unique().to_pylist()):
            chapters = table.filter(pc.equal(table["book"], name))["text"].to_pylist()
            if len(chapters) < FEW:
                chapters = [block for chapter in chapters for block in blocks(chapter.split("\n\n"), BLOCK)]
            texts += chapters
            book += [i] * len(chapters)
            split += held_out(name, [len(c.split()) for c in chapters], self.holdout).tolist()
        column = pa.array(texts, type=pa.large_string())
        books, splits = np.array(book, dtype=np.int32), np.array(split, dtype=np.int8)
        if self.sentences:
            column, parent = split_all(column, self.tokeniser.language)
            books, splits = books[parent], splits[parent]
        return column, books, splits

    def tagger(self) -> Tagger:
        """The tagger that the parts of speech come from."""
        return load_tagger(self.path, self.cache, self.recipe, self.tokeniser.language)

    def judge(self) -> Tagger:
        """A tagger of the same recipe that learned from the other half of the sentences."""
        if self.recipe.half is None:
            raise AtdError("data.tagger.half=null: leaves no sentences for another tagger; use 0 or 1")
        recipe = replace(self.recipe, half=1 - self.recipe.half)
        return trained_tagger(self.path, self.cache, recipe, self.tokeniser.language)

    def _tags(self, table: pa.Table) -> EncodedCorpus:
        """The tag of every token in reading order, in place of its id. It takes minutes, so it is kept apart from the
        vocabulary and the split, which change more often; neither changes where tokens end."""

        def build() -> EncodedCorpus:
            tagger = self.tagger()
            tokens = self.tokeniser(table["text"])
            tags, names = tagger.tag_tokens(tokens)
            meta = {
                "attributes": names,
                "column": "part of speech",
                "tagger": tagger.name,
                "tagger_accuracy": tagger.accuracy,
            }
            return EncodedCorpus(tags, tokens.offsets, np.zeros(len(tokens), np.int32), meta=meta)

        key = {
            "files": fingerprint(self.inputs()),
            "kind": self.tokeniser.kind,
            "tagger": tagger_key(self.path, self.recipe, self.tokeniser.language),
        }
        return open_or_build(key, build, self.cache, name="tags")


def held_out(book: str, sizes: list[int], share: float) -> np.ndarray:
    """The split (0 train, 1 val, 2 test) of each chapter: chapters are drawn in an order that the book's name fixes,
    until a split has `share` of the words or the next chapter would miss it by more than leaving it out."""
    split = np.zeros(len(sizes), dtype=np.int8)
    if len(sizes) < 3:
        raise AtdError(f"{book}: {sum(sizes)} words are too few to hold some out; a book needs about {3 * BLOCK}")
    order = iter(np.random.default_rng(zlib.crc32(book.encode())).permutation(len(sizes)))
    target = share * sum(sizes)
    for part in (1, 2):
        chosen = 0
        for chapter in order:
            split[chapter] = part
            chosen += sizes[chapter]
            if chosen + np.mean(sizes) / 2 >= target:
                break
    return split
