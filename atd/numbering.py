"""Text to numbered words: every distinct word gets a number when it first comes.

A rule of tokenisation is asked once for every distinct piece of text, over all that is added. Columns of Arrow go
through a kernel in C where there is one (`atd.numbering_kernel`), which gives the same numbers.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from atd.native import kernel
from atd.ragged import Ragged

if TYPE_CHECKING:
    import pyarrow as pa

    from atd.numbering_kernel import KernelNumbering
    from atd.tokeniser import Texts, Tokeniser

MANY = 100  # texts that are worth to be made a column


def numbering(tokeniser: Tokeniser, fold: bool = True) -> Numbering | KernelNumbering:
    """Of folded words, or of tokens as written."""
    from atd.tokeniser import Tokeniser

    own_rule = type(tokeniser).rule is not Tokeniser.rule  # which the kernel does not know
    if own_rule or tokeniser.kind == "characters" or kernel("words") is None:
        return Numbering(tokeniser, fold)
    from atd.numbering_kernel import KernelNumbering

    return KernelNumbering(tokeniser, fold)


def numbered(tokeniser: Tokeniser, texts: Texts, fold: bool) -> tuple[Ragged, list[str]]:
    """(the numbers of the words of every text, the distinct words)."""
    column = _column(texts)
    numbers = Numbering(tokeniser, fold) if column is None else numbering(tokeniser, fold)
    return numbers.add(texts if column is None else column), numbers.types


def _column(texts: Texts) -> pa.Array | pa.ChunkedArray | None:
    """The texts as Arrow has them, if they are many, and of whole characters."""
    if type(texts).__module__.startswith("pyarrow"):
        return texts
    if len(texts) < MANY:
        return None
    try:
        import pyarrow as pa
    except ModuleNotFoundError:  # the library does without
        return None
    try:
        return pa.array(texts, pa.large_string())
    except (pa.ArrowException, UnicodeError):
        return None


class Numbering:
    """`add` texts; `types` are the distinct words so far, in the order of their numbers."""

    def __init__(self, tokeniser: Tokeniser, fold: bool = True):
        self.words = tokeniser.word_rule(fold)
        self.pieces_of = tokeniser.pieces
        self.place: dict[str, int] = {}  # of every distinct word
        self.pieces: dict[str, int] = {}  # and of every distinct piece of text
        self.words_of = array("i")  # the words of one piece after another
        self.ends = array("q", [0])  # where those of a piece end

    @property
    def types(self) -> list[str]:
        return list(self.place)

    def add(self, texts: Texts) -> Ragged:
        """The numbers of the words of every text."""
        found = self.pieces_of(texts)
        piece = np.array([self._piece(text) for text in found.types], np.int64)
        known = Ragged(np.array(self.words_of, np.int32), np.array(self.ends, np.int64))
        made = known.take(piece[found.tokens] if len(piece) else found.tokens)
        return Ragged(made.tokens, made.offsets[found.offsets])

    def _piece(self, text: str) -> int:
        """The number of a piece of text; a new one is cut into words."""
        number = self.pieces.setdefault(text, len(self.pieces))
        if number == len(self.ends) - 1:
            self.words_of.extend(self.place.setdefault(word, len(self.place)) for word in self.words(text))
            self.ends.append(len(self.words_of))
        return number
