"""Tokens as people write text: no space before a comma, none inside brackets and quotation marks."""

from __future__ import annotations

import re

BEFORE = re.compile(
    r"""\s+(?=(?:[,;:!?%)\]}»”]|\.+|n['’]t|['’](?:s|m|d|re|ve|ll))(?:[\s"]|$))""",
    re.IGNORECASE,
)
AFTER = re.compile(r"(?<![^\s(\[{«“‘])([(\[{«“‘¿¡$£€#])\s+")
QUOTED = re.compile(r'(?<!\S)"\s+([^"]*?)\s+"(?!\S)')


def detokenised(text: str) -> str:
    """The same words; text that was never tokenised stays as it is."""
    text = QUOTED.sub(r'"\1"', text)
    text = AFTER.sub(r"\1", text)
    return BEFORE.sub("", text)
