"""Text to numbered words in C, as `atd.numbering` does it in Python, and with the same numbers.

The kernel (`native/words.c`) passes over the bytes of Arrow's columns once, in as many threads as PyTorch has. What
kind of character each one is, and what folding makes of it, it learns from tables that Python's own functions fill
here; a piece of text that no table describes it leaves to the rule in Python.
"""

from __future__ import annotations

import ctypes
import re
import weakref
from collections.abc import Iterator
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from atd.native import address, in_parts, kernel
from atd.ragged import Ragged, offsets_of
from atd.tokeniser import ABBREVIATIONS, ELIDING, QUOTES, Tokeniser, combining

SLICE = 1 << 20  # bytes of text that a thread numbers at a time

POINTS = 0x20000  # code points that the kernel has tables for; these names and those below are also in words.c
OTHER, LETTER, DIGIT, MARK, UNDERSCORE, SPACE, HARD = range(7)
CLASSES = {LETTER: r"[^\W\d_]+", DIGIT: r"\d+", UNDERSCORE: "_", SPACE: r"\s+"}
ASK, WHOLE, FAST = range(3)
PLAIN, ENGLISH, ROMANCE = range(3)


class KernelNumbering:
    """`add` columns; `types` are the distinct words so far, in the order of their numbers.

    Every thread has an encoder; that of the first knows the words of all."""

    def __init__(self, tokeniser: Tokeniser, fold: bool = True):
        self.make = lambda: Encoder(tokeniser, fold)
        self.encoders = [self.make()]
        self.numbers = [np.zeros(0, np.int32)]  # by encoder: the number that each of its words has for all

    @property
    def types(self) -> list[str]:
        return self.encoders[0].words().to_numpy(zero_copy_only=False).tolist()

    def add(self, texts: pa.Array | pa.ChunkedArray) -> Ragged:
        """The numbers of the words of every text."""
        slices = list(sliced(texts))
        threads = max(1, min(torch.get_num_threads(), len(slices)))
        bounds = [len(slices) * k // threads for k in range(threads + 1)]
        self._more_encoders(threads)
        found = [Ragged(np.zeros(0, np.int32), np.zeros(1, np.int64))] * len(slices)

        def number(first: int, last: int) -> None:
            for k in range(first, last):
                for i in range(bounds[k], bounds[k + 1]):
                    found[i] = self.encoders[k].number(slices[i])

        def renumber(first: int, last: int) -> None:
            for k in range(max(first, 1), last):
                for part in found[bounds[k] : bounds[k + 1]]:
                    part.tokens = self.numbers[k][part.tokens]

        in_parts(threads, number, threads)
        for k in range(1, threads):
            self.numbers[k] = self.encoders[0].joined(self.encoders[k], self.numbers[k])
        in_parts(threads, renumber, threads)
        return together(found)

    def _more_encoders(self, threads: int) -> None:
        for _ in range(len(self.encoders), threads):
            self.encoders.append(self.make())
            self.numbers.append(np.zeros(0, np.int32))


class Encoder:
    """Pieces of text and their words in tables of the kernel."""

    def __init__(self, tokeniser: Tokeniser, fold: bool):
        self.words_of = tokeniser.word_rule(fold)
        self.lib = library()
        self.scratch = np.zeros(0, np.int32)
        self.tables = tables(fold, fold and tokeniser.lowercase)
        self.abbreviations = f"|{ABBREVIATIONS.get(tokeniser.language, '')}|".encode()
        self.state = self.lib.new_encoder(
            {"whitespace": WHOLE, "fast": FAST}.get(tokeniser.kind, ASK),
            ROMANCE if tokeniser.language in ELIDING else ENGLISH if tokeniser.language == "en" else PLAIN,
            fold and tokeniser.numbers,
            *map(address, self.tables),
            self.abbreviations,
        )
        weakref.finalize(self, self.lib.free_encoder, self.state)

    def number(self, texts: pa.Array) -> Ragged:
        """The numbers of the words of some texts without nulls."""
        width = np.int64 if pa.types.is_large_string(texts.type) else np.int32
        _, where, data = texts.buffers()
        offsets = np.frombuffer(where, width)[texts.offset :][: len(texts) + 1].astype(np.int64)
        start = data.address if data is not None else 0
        self._make_room(int(offsets[-1] - offsets[0]))
        place = np.array([0, offsets[0], 0, 0])  # text, byte, words so far, and where a piece is that Python must cut
        ends = np.zeros(len(offsets), np.int64)
        args = (address(offsets), len(texts), address(place), address(self.scratch), address(ends[1:]))
        while length := self.lib.number_texts(self.state, start, *args):
            self._ask(start + int(place[3]), length)
        return Ragged(self.scratch[: ends[-1]].copy(), ends)

    def _make_room(self, words: int) -> None:
        """A word is a byte or more."""
        if words > len(self.scratch):
            self.scratch = np.empty(words, np.int32)

    def _ask(self, piece: int, length: int) -> None:
        """Have Python's rule cut a piece of text."""
        words = self.words_of(ctypes.string_at(piece, length).decode())
        for word in (word.encode() for word in words):
            self.lib.add_word(self.state, word, len(word))
        self.lib.add_piece(self.state, piece, length, len(words))

    def words(self) -> pa.Array:
        """The distinct words, by their numbers."""
        n = self.lib.words(self.state)
        starts, data = np.empty(n + 1, np.int64), np.empty(self.lib.word_bytes(self.state), np.uint8)
        self.lib.copy_words(self.state, address(data), address(starts))
        return pa.LargeStringArray.from_buffers(n, pa.py_buffer(starts), pa.py_buffer(data))

    def joined(self, other: Encoder, numbers: np.ndarray) -> np.ndarray:
        """The numbers here of the other's words; those of the first ones are known. New words are taken in."""
        known, all_of_them = len(numbers), self.lib.words(other.state)
        numbers = np.concatenate([numbers, np.empty(all_of_them - known, np.int32)])
        self.lib.join_words(self.state, other.state, known, address(numbers))
        return numbers


def sliced(texts: pa.Array | pa.ChunkedArray) -> Iterator[pa.Array]:
    """Some megabyte of texts after another; a missing one is empty."""
    for chunk in texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]:
        if chunk.type not in (pa.string(), pa.large_string()):
            chunk = chunk.cast(pa.string())
        chunk = pc.fill_null(chunk, "") if chunk.null_count else chunk
        rows = max(1, len(chunk) * SLICE // max(chunk.nbytes, 1))
        yield from (chunk.slice(i, rows) for i in range(0, len(chunk), rows))


def together(parts: list[Ragged]) -> Ragged:
    """Texts of one part after another."""
    lengths = [part.lengths for part in parts]
    tokens = [part.tokens for part in parts]
    return Ragged(np.concatenate([np.zeros(0, np.int32), *tokens]), offsets_of(np.concatenate([[], *lengths])))


@cache
def tables(fold: bool, lowercase: bool) -> tuple[np.ndarray, np.ndarray]:
    """(the class of every character, the character it is folded to), as Python's own functions have it.

    Hard are those that fold to several characters, or by what is around them, or that an expression without case
    takes for an ASCII letter; and surrogates."""
    every = "".join(map(chr, range(POINTS)))
    plain = every.translate(QUOTES) if fold else every
    small = [c.lower() for c in plain] if lowercase else list(plain)
    classes = np.full(POINTS, OTHER, np.uint8)
    classes[combining()] = MARK
    for number, pattern in CLASSES.items():
        for found in re.finditer(pattern, every):
            classes[found.start() : found.end()] = number
    changed = (i for i, c in enumerate(small) if c != plain[i])
    hard = [i for i in changed if len(small[i]) > 1 or (lowercase and ("a" + plain[i]).lower() != "a" + small[i])]
    hard += [found.start() for found in re.finditer("[a-z]", every, re.IGNORECASE) if not found[0].isascii()]
    classes[[*hard, *range(0xD800, 0xE000)]] = HARD
    folded = "".join(c[0] for c in small).encode("utf-32-le", "surrogatepass")
    return classes, np.frombuffer(folded, np.uint32)


@cache
def library() -> ctypes.CDLL:
    lib = kernel("words")
    assert lib is not None
    p, n, text = ctypes.c_void_p, ctypes.c_int64, ctypes.c_char_p
    for name, result, arguments in (
        ("new_encoder", p, [ctypes.c_int, ctypes.c_int, ctypes.c_int, p, p, text]),
        ("free_encoder", None, [p]),
        ("number_texts", n, [p, p, p, n, p, p, p]),
        ("add_word", None, [p, text, n]),
        ("add_piece", None, [p, p, n, n]),
        ("words", n, [p]),
        ("word_bytes", n, [p]),
        ("copy_words", None, [p, p, p]),
        ("join_words", None, [p, p, n, p]),
    ):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib
