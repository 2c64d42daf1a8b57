"""Words and texts of a corpus as a cell of a table says them."""

from __future__ import annotations

from collections.abc import Iterable


def listed(words: Iterable[str]) -> str:
    """Words with commas between; a mark, such as a comma, stands in quotation marks."""
    return ", ".join(word if any(letter.isalnum() for letter in word) else f"“{word}”" for word in words)


def beginning(text: str, most: int) -> str:
    """The first words of a text, at most so many letters of it."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    whole = text[: most + 1].rpartition(" ")[0]
    return f"{whole or text[:most]} …"


def counted(n: int, thing: str) -> str:
    """`1 seed`, `3 seeds`."""
    return f"{n:,} {thing}{'s' * (n != 1)}"
