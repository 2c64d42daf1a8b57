"""Text of many languages for one language model: the attribute of a text is its language.

`unit: word` gives every language its own vocabulary (section 2.4). `unit: character` is one alphabet for all; with
`romanise` it is the Latin one, so that languages in different scripts can be alike.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.tokeniser import Tokeniser
from atd.vocabulary import UNK_ID, Vocabulary
from atd.windows import WindowLoader
from datamodules.corpus import Corpus, by_split, sample_folder
from datamodules.encode import count_vocabulary, ids
from datamodules.readers import bible, monolingual
from datamodules.readers.parallel import find_pairs, read_pairs

UNITS = ("word", "character")
SOURCES = ("bible", "europarl", "monolingual")
SPACE = "_"


class Languages(Corpus):
    """`languages`: codes, null = all of the Bible folders. `sources`: where text is looked for, the first that has the
    language. `matched`: only verses that all languages have. `lines`: most lines of a language, the same number of
    each when matched. Of every hundred lines five are for validation and five for test."""

    def __init__(
        self,
        *,
        languages: Sequence[str] | None = None,
        sources: Sequence[str] = ("bible",),
        unit: str = "word",
        matched: bool = True,
        lines: int | None = None,
        romanise: bool = False,
        sample: bool = False,
        **common: Any,
    ):
        super().__init__(**common)
        if unit not in UNITS:
            raise AtdError(f"data.unit={unit}: must be one of {', '.join(UNITS)}")
        if unknown := [s for s in sources if s not in SOURCES]:
            raise AtdError(f"data.sources={unknown[0]}: must be among {', '.join(SOURCES)}")
        if matched and list(sources) != ["bible"]:
            raise AtdError("data.matched=true: only verses of data.sources=[bible] can be matched")
        self.path = sample_folder(self.cache) if sample else self.path
        self.languages = list(languages) if languages is not None else bible.languages(self.path)
        if len(self.languages) < 2:
            raise AtdError(f"{self.path}: language vectors need two languages or more, found {self.languages}")
        self.sources, self.unit, self.matched = list(sources), unit, matched
        self.lines, self.romanise = lines, romanise

    def inputs(self) -> list[Path]:
        return sorted({place.path for language in self.languages for place in self._source(language)[1]})

    def _source(self, language: str) -> tuple[str, list]:
        """The first source that has the language, and its files."""
        finders = {
            "bible": lambda: [bible.find_bible(self.path, language)],
            "monolingual": lambda: [monolingual.find_monolingual(self.path, language)],
            "europarl": lambda: list(find_pairs(self.path, self._pair(language))[:2]),
        }
        problem: AtdError | None = None
        for source in self.sources:
            try:
                return source, finders[source]()
            except AtdError as error:
                problem = problem or error
        raise AtdError(f"data.languages: no text in {language!r} ({problem})")

    @staticmethod
    def _pair(language: str) -> str:
        return "en-de" if language == "en" else f"en-{language}"

    def settings(self) -> dict[str, Any]:
        chosen = {"languages": self.languages, "sources": self.sources, "unit": self.unit, "matched": self.matched}
        return chosen | {"lines": self.lines, "romanise": self.romanise}

    def texts(self) -> dict[str, pa.ChunkedArray]:
        """The lines of every language; matched ones tell the same verses in the same order."""
        if self.matched:
            tables = {language: bible.read_bible(self.path, language) for language in self.languages}
            seen = Counter(verse for table in tables.values() for verse in set(table["verse"].to_pylist()))
            common = [v for v in tables[self.languages[0]]["verse"].to_pylist() if seen[v] == len(tables)]
            if not common:
                raise AtdError("data.matched=true: no verse is in all languages; leave some out or set it to false")
            common = common[:: max(1, len(common) // self.lines)][: self.lines] if self.lines else common
            place = {lang: dict(zip(t["verse"].to_pylist(), range(len(t)))) for lang, t in tables.items()}
            return {lang: t["text"].take(pa.array([place[lang][v] for v in common])) for lang, t in tables.items()}
        out = {}
        for language in self.languages:
            source = self._source(language)[0]
            if source == "bible":
                column = bible.read_bible(self.path, language)["text"]
            elif source == "monolingual":
                column = monolingual.read_monolingual(self.path, language)["text"]
            else:
                side = "source" if language == "en" else "target"
                column = read_pairs(self.path, self._pair(language))[side]
            out[language] = column.slice(0, self.lines)
        return out

    def build(self) -> EncodedCorpus:
        texts = self.texts()
        split = np.concatenate([held_out(len(lines)) for lines in texts.values()])
        language = np.repeat(np.arange(len(texts)), [len(lines) for lines in texts.values()])
        encode = self._words if self.unit == "word" else self._characters
        tokens, lengths, vocabularies = encode(texts, split, language)
        corpus = EncodedCorpus(
            tokens=tokens,
            offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            attributes=language.astype(np.int32),
            columns={"split": split},
            meta={
                "vocabularies": [v.state() for v in vocabularies],
                "vocabulary": vocabularies[0].state(),
                "attributes": list(texts),
            },
        )
        return corpus.take(by_split(split))

    def _words(self, texts, split, language) -> tuple[np.ndarray, np.ndarray, list[Vocabulary]]:
        flat, lengths, vocabularies = [], [], []
        for i, (name, lines) in enumerate(texts.items()):
            tokens = Tokeniser(self.tokeniser.kind, name).folded(lines)
            vocabulary = count_vocabulary(tokens, self.min_count, self.max_size, split[language == i] == 0)
            flat.append(ids(tokens, vocabulary))
            lengths.append(np.diff(tokens.offsets))
            vocabularies.append(vocabulary)
        return np.concatenate(flat), np.concatenate(lengths), vocabularies

    def _characters(self, texts, split, language) -> tuple[np.ndarray, np.ndarray, list[Vocabulary]]:
        lines = [plain(line, self.romanise) for column in texts.values() for line in column.to_pylist()]
        lengths = np.array([len(line) for line in lines], dtype=np.int64)
        points = np.frombuffer("".join(lines).encode("utf-32-le"), dtype=np.uint32)
        types, index, count = np.unique(points, return_inverse=True, return_counts=True)
        counts = {chr(t): int(c) for t, c in zip(types, count)}
        vocabulary = Vocabulary.from_counts(counts, self.min_count, self.max_size)
        table = np.array([vocabulary.index.get(chr(t), UNK_ID) for t in types], dtype=np.int32)
        return table[index], lengths, [vocabulary]

    @property
    def vocabularies(self) -> list[Vocabulary]:
        return [Vocabulary.from_state(state) for state in self.encoded["train"].meta["vocabularies"]]

    def loader(self, split: str, shuffle: bool = False) -> WindowLoader:
        """Batches of one language each when vocabularies are unshared."""
        rank, world_size = (self.trainer.global_rank, self.trainer.world_size) if self.trainer else (0, 1)
        part = self.encoded[split]
        options = {"groups": part.attributes if self.unit == "word" else None, "rank": rank, "world_size": world_size}
        return WindowLoader(part, self.context, self.batch_size, self.seed, shuffle, **options)


def held_out(n: int) -> np.ndarray:
    """The split (0 train, 1 val, 2 test) of n lines in order: of every twenty one for each of val and test."""
    split = np.zeros(n, dtype=np.int8)
    split[9::20], split[19::20] = 1, 2
    return split


def plain(text: str, romanise: bool) -> str:
    """Lower case, white space as `_`, digits and punctuation left out; romanised, without accents."""
    if romanise:
        from anyascii import anyascii

        text = anyascii(text)
    kept = (c for c in unicodedata.normalize("NFC", text.lower()) if c.isspace() or unicodedata.category(c)[0] in "LM")
    return SPACE + SPACE.join("".join(kept).split()) + SPACE
