"""Text of many languages for one language model: the attribute of a text is its language.

`unit: word` gives every language its own vocabulary (section 2.4). `unit: character` is one alphabet for all; with
`romanise` it is the Latin one, so that languages in different scripts can be alike.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa

from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.ragged import offsets_of
from atd.settings import one_of, optional, some_of, whole
from atd.tokeniser import Tokeniser
from atd.vocabulary import UNK_ID, Vocabulary
from atd.windows import WindowLoader
from datamodules.corpus import Corpus, by_split, sample_folder
from datamodules.encode import count_vocabulary, ids
from datamodules.readers import bible, monolingual
from datamodules.readers.files import missing
from datamodules.readers.parallel import find_pairs, read_pairs

UNITS = ("word", "character")
SOURCES = ("bible", "europarl", "monolingual")
SPACE = "_"


class Languages(Corpus):
    """Lines of several languages; of every hundred five are for validation and five for test.

    - `languages`: codes such as en; None = all of the Bible folders.
    - `sources`: where text is looked for; a language is read from the first that has it.
    - `unit`: `word` or `character`, see above.
    - `matched`: only verses that all languages have, so that the languages differ and not what is told.
    - `lines`: most lines of a language, the same verses of each when matched.
    - `romanise`: characters in Latin letters, whatever the script.
    - `sample`: a parliament of our own making, in place of the files under `path`.
    """

    def __init__(
        self,
        *,
        languages: Sequence[str] | None = None,
        sources: Annotated[Sequence[str], some_of(*SOURCES)] = ("bible",),
        unit: Annotated[str, one_of(*UNITS)] = "word",
        matched: bool = True,
        lines: Annotated[int | None, optional(whole(1))] = None,
        romanise: bool = False,
        sample: bool = False,
        **common: Any,
    ):
        super().__init__(**common)
        if matched and list(sources) != ["bible"]:
            raise AtdError("data.matched=true: only verses of data.sources=[bible] can be matched")
        self.path = sample_folder(self.cache) if sample else self.path
        self.languages = list(languages) if languages is not None else bible.languages(self.path)
        if languages is None and not self.languages:
            raise missing("Bibles", self.path, *(self.path / folder / "<language>.tsv" for folder in bible.FOLDERS))
        if len(self.languages) < 2:
            raise AtdError(f"{self.path}: language vectors need two languages or more, found {self.languages}")
        self.sources = list(sources)
        self.unit = unit
        self.matched = matched
        self.lines = lines
        self.romanise = romanise

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
        """The pair of Europarl that has the language on one side."""
        return "en-de" if language == "en" else f"en-{language}"

    def settings(self) -> dict[str, Any]:
        chosen = {"languages": self.languages, "sources": self.sources, "unit": self.unit, "matched": self.matched}
        return chosen | {"lines": self.lines, "romanise": self.romanise}

    def texts(self) -> dict[str, pa.ChunkedArray]:
        """The lines of every language; matched ones tell the same verses in the same order."""
        if self.matched:
            return self._verses()
        return {language: self._lines(language).slice(0, self.lines) for language in self.languages}

    def _verses(self) -> dict[str, pa.ChunkedArray]:
        """The verses that all languages have, in the order of the first; at most `lines` of them, taken evenly."""
        tables = {language: bible.read_bible(self.path, language) for language in self.languages}
        seen = Counter(verse for table in tables.values() for verse in set(table["verse"].to_pylist()))
        common = [v for v in tables[self.languages[0]]["verse"].to_pylist() if seen[v] == len(tables)]
        if not common:
            raise AtdError("data.matched=true: no verse is in all languages; leave some out or set it to false")
        if self.lines:
            common = common[:: max(1, len(common) // self.lines)][: self.lines]
        place = {lang: dict(zip(t["verse"].to_pylist(), range(len(t)))) for lang, t in tables.items()}
        return {lang: t["text"].take(pa.array([place[lang][v] for v in common])) for lang, t in tables.items()}

    def _lines(self, language: str) -> pa.ChunkedArray:
        """All lines of a language, from the first source that has it."""
        source = self._source(language)[0]
        if source == "bible":
            return bible.read_bible(self.path, language)["text"]
        if source == "monolingual":
            return monolingual.read_monolingual(self.path, language)["text"]
        return read_pairs(self.path, self._pair(language))["source" if language == "en" else "target"]

    def build(self) -> EncodedCorpus:
        texts = self.texts()
        split = np.concatenate([held_out(len(lines)) for lines in texts.values()])
        language = np.repeat(np.arange(len(texts)), [len(lines) for lines in texts.values()])
        if self.unit == "word":
            tokens, lengths, vocabularies = self._words(texts, split, language)
        else:
            tokens, lengths, vocabularies = self._characters(texts)
        corpus = EncodedCorpus(
            tokens=tokens,
            offsets=offsets_of(lengths),
            attributes=language.astype(np.int32),
            columns={"split": split},
            meta={
                "vocabularies": [v.state() for v in vocabularies],
                "vocabulary": vocabularies[0].state(),
                "attributes": list(texts),
                "column": "language",
            },
        )
        return corpus.take(by_split(split))

    def _words(
        self, texts: Mapping[str, pa.ChunkedArray], split: np.ndarray, language: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, list[Vocabulary]]:
        """Numbers within each language's vocabulary, the length of every line, and the vocabularies."""
        flat: list[np.ndarray] = []
        lengths: list[np.ndarray] = []
        vocabularies: list[Vocabulary] = []
        for i, (name, lines) in enumerate(texts.items()):
            tokens = Tokeniser(self.tokeniser.kind, name).folded(lines)
            vocabulary = count_vocabulary(tokens, self.min_count, self.max_size, split[language == i] == 0)
            flat.append(ids(tokens, vocabulary))
            lengths.append(np.diff(tokens.offsets))
            vocabularies.append(vocabulary)
        return np.concatenate(flat), np.concatenate(lengths), vocabularies

    def _characters(self, texts: Mapping[str, pa.ChunkedArray]) -> tuple[np.ndarray, np.ndarray, list[Vocabulary]]:
        """Numbers of characters, the length of every line, and the one alphabet."""
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

    def batches(self, texts: EncodedCorpus, shuffle: bool, groups: np.ndarray | None = None) -> WindowLoader:
        """Batches of one language each when vocabularies are unshared."""
        return super().batches(texts, shuffle, texts.attributes if self.unit == "word" else groups)


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
