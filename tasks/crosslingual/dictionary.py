"""A dictionary to judge word translation by, that owes nothing to the sentence pairs the rows learn from.

Where it comes from, as `task.dictionary` says:

    a file   lines of a word, white space and a translation, as those of MUSE (Conneau et al. 2018)
    muse     MUSE's 1,500 test words of a pair, found in the data folder or downloaded
    bible    words of the verse-aligned Bibles that are each other's best Dice coefficient, at 0.4 or more
    null     MUSE's file if the data folder has it, or else the Bibles, or else none

A sample's dictionary is the one its sentences were made with. Of any dictionary those entries are asked for whose two
words the whole training text has: the same for all rows, whatever they learn from. A word that a row does not know is
a word it gets wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from atd.errors import AtdError
from atd.ragged import Ragged
from atd.tokeniser import Tokeniser
from datamodules.download import Source, fetch
from datamodules.encode import count_vocabulary, ids
from datamodules.pairs import Pairs
from datamodules.readers.bible import FOLDERS, read_verse_pairs
from tasks.crosslingual.lexicon import dice, translations

if TYPE_CHECKING:
    from datamodules.europarl_rcv import EuroparlRCV

MUSE = "https://dl.fbaipublicfiles.com/arrival/dictionaries/{pair}.5000-6500.txt"
FOLDER = Path("crosslingual") / "dictionaries"  # in the data folder
COUNT = 10  # verses' words that are rarer are left out
DICE = 0.4


@dataclass(frozen=True)
class Dictionary:
    """`entries`: a word of the first language → all words of the second that are right."""

    name: str  # where it comes from, in words
    entries: dict[str, set[str]]
    verses: bool = False  # made of Bibles: no measure of a row that learns from the same ones

    def of_words(self, data: EuroparlRCV) -> Dictionary:
        """The entries whose two words a corpus has."""
        source, target = data.vocabularies[:2]
        known = {word: {b for b in right if b in target} for word, right in self.entries.items() if word in source}
        kept = {word: right for word, right in known.items() if right}
        if not kept:
            raise AtdError(f"task.dictionary: {self.name} has no pair of words that both vocabularies have")
        return replace(self, entries=kept)


def find_dictionary(asked: str | None, data: EuroparlRCV, sample: bool) -> Dictionary | None:
    """What `task.dictionary` asks for, in the words of the whole training text; None if there is none."""
    found = planted(data.pairs[0]) if sample and asked is None else read(asked, data)
    return found and found.of_words(data)


def read(asked: str | None, data: EuroparlRCV) -> Dictionary | None:
    pair = data.pairs[0]
    folder = data.path / FOLDER
    muse = Source(MUSE.format(pair=pair))
    if asked == "muse" or (asked is None and (folder / muse.file).exists()):
        return of_file(fetch(muse, folder))
    if asked not in (None, "bible"):
        return of_file(Path(asked))
    try:
        return of_verses(data.path, pair, data.kind)
    except AtdError:
        if asked == "bible":
            raise
        return None


def planted(pair: str) -> Dictionary:
    """The words that the sentences of a sample were made with."""
    from datamodules.sample import translations as sample_words

    return gathered("the dictionary of the sample", sample_words()[pair.split("-")[1]].items())


def of_file(path: Path) -> Dictionary:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise AtdError(
            f"task.dictionary={path}: {error.strerror}; give a file of a word and a translation a line"
        ) from None
    return gathered(path.name, (line.split()[:2] for line in lines if len(line.split()) >= 2))


def of_verses(path: Path, pair: str, kind: str) -> Dictionary:
    verses = read_verse_pairs(path, pair)
    tokens = [Tokeniser(kind, lang).folded(verses[side]) for lang, side in zip(pair.split("-"), ("source", "target"))]
    vocabularies = [count_vocabulary(side, COUNT) for side in tokens]
    sides = [Ragged(ids(side, known), side.offsets) for side, known in zip(tokens, vocabularies, strict=True)]
    table = dice(Pairs((0, 1), *sides), *map(len, vocabularies))
    source, target = (known.words for known in vocabularies)
    found = ((source[i], target[j]) for i, j in translations(table, DICE))
    words = ((a, b) for a, b in found if a.isalpha() and b.isalpha())
    name = f"the verses under {FOLDERS[0]}: words that are each other's best by Dice's coefficient, at {DICE} or more"
    return replace(gathered(name, words), verses=True)


def gathered(name: str, pairs: Iterable[Sequence[str]]) -> Dictionary:
    """All translations of a word together, in lower case."""
    entries: dict[str, set[str]] = {}
    for word, translation in pairs:
        entries.setdefault(word.lower(), set()).add(translation.lower())
    return Dictionary(name, entries)
