"""Tokens as people write text: no space before a comma, none inside brackets and quotation marks."""

from __future__ import annotations

import re

BEFORE = re.compile(
    r"""\s+(?=(?:[,;:!?%)\]}»”]|\.+|n['’]t|['’](?:s|m|d|re|ve|ll))(?:[\s"]|$))""",
    re.IGNORECASE,
)
AFTER = re.compile(r"(?<![^\s(\[{«“‘])([(\[{«“‘¿¡$£€#])\s+")
BETWEEN = re.compile(r'(?<!\S)"\s+"(?!\S)')  # one speech ends, the next begins
QUOTED = re.compile(r'(?<!\S)"\s+([^"]*?)\s+"(?!\S)')


def detokenised(text: str) -> str:
    """The same words; text that was never tokenised stays as it is."""
    parts = BETWEEN.split(text)
    text = " ".join(in_marks(part, n > 0, n < len(parts) - 1) for n, part in enumerate(parts))
    text = AFTER.sub(r"\1", text)
    return BEFORE.sub("", text)


def in_marks(text: str, begins: bool, ends: bool) -> str:
    """Speeches in quotation marks: whether one begins before the text, and whether one ends after it."""
    text = f'" {text.lstrip()}' if begins else text
    text = f'{text.rstrip()} "' if ends else text
    text = QUOTED.sub(r'"\1"', text)
    text = re.sub(r'^" ', '"', text) if begins else text
    return re.sub(r' "$', '"', text) if ends else text
