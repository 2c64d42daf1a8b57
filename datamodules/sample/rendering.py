"""Tagged tokens as running text: spaces, quotation marks, capitals, wrapped lines."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from datamodules.sample.lexicon import Tagged

CLOSING = {",", ".", ";", ":", "!", "?", "''", "'s"}


def capitalised(tokens: list[Tagged]) -> list[Tagged]:
    """Capitals at the start, and where speech starts: after an opening mark unless it goes on."""
    out, capital = [], True
    for i, (word, tag) in enumerate(tokens):
        if tag == "``":
            capital = i == 0 or tokens[i - 1][0] not in (",", ";")
        elif capital:
            word, capital = word[:1].upper() + word[1:], False
        out.append((word, tag))
    return out


def sentence(tokens: Iterable[Tagged]) -> str:
    """`` and '' become a plain double quotation mark, as in NLTK's books."""
    parts: list[str] = []
    glue = True
    for word, _ in tokens:
        if not glue and word not in CLOSING:
            parts.append(" ")
        parts.append('"' if word in ("``", "''") else word)
        glue = word == "``"
    return "".join(parts)


def paragraph(sentences: Iterable[list[Tagged]], lead: str = "", width: int = 70) -> str:
    text = lead + " ".join(sentence(capitalised(tokens)) for tokens in sentences)
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
