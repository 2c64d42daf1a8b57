"""Text in any script as n-grams of Latin letters, each a number.

A letter is a digit in base 28, so an n-gram is a number below 28ⁿ, and a text becomes numbers without a loop.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

ALPHABET = " 'abcdefghijklmnopqrstuvwxyz"
BASE = len(ALPHABET)
LETTER = np.zeros(128, np.uint8)
LETTER[[ord(c) for c in ALPHABET]] = np.arange(BASE)


def latin(texts: Sequence[str]) -> list[str]:
    """Lower-case Latin letters and apostrophes, a blank between words and at both ends."""
    from anyascii import anyascii

    table = {ord(c): letters_of(anyascii(c)) for c in set().union(*texts)}
    return [f" {' '.join(text.translate(table).split())} " for text in texts]


def letters_of(written: str) -> str:
    return "".join(c if c in ALPHABET else " " for c in written.lower())


def ngrams(lines: Sequence[str], n: int) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of all n-grams of some lines of the alphabet, and how many each line has."""
    points = np.frombuffer("".join(lines).encode("ascii"), np.uint8)
    letter_T = LETTER[points].astype(np.int32)
    lengths = np.array([len(line) for line in lines])
    T = len(letter_T) - n + 1
    if T < 1:
        return np.zeros(0, np.int32), np.zeros(len(lines), np.int64)
    ids = sum(letter_T[k : k + T] * BASE ** (n - 1 - k) for k in range(n))
    owner = np.repeat(np.arange(len(lines)), lengths)
    whole_T = owner[:T] == owner[n - 1 :]  # within one line
    return np.asarray(ids)[whole_T], np.bincount(owner[:T][whole_T], minlength=len(lines))


def spelt(number: int, n: int) -> str:
    """The n-gram of a number, its blanks as `_`."""
    return "".join(ALPHABET[number // BASE**k % BASE] for k in reversed(range(n))).replace(" ", "_")


def number(ngram: str) -> int:
    out = 0
    for c in ngram:
        out = out * BASE + ALPHABET.index(" " if c == "_" else c)
    return out
