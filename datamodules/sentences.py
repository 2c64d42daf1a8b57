"""Where sentences end in running text, by rule: a stop, perhaps a quote, then white space and a capital."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

from atd.tokeniser import ABBREVIATIONS

_OPEN, _CLOSE = "\"'“‘«([", "\"'”’»)\\]"
_END = re.compile(rf"[.!?…][{_CLOSE}_]*\s+(?=[{re.escape(_OPEN)}_-]*[^\W\d_a-z])|\n[ \t]*\n\s*")
_LAST_WORD = re.compile(r"([^\W\d_]+)\.\Z")


def split(text: str, language: str = "en") -> list[str]:
    """The sentences of a text, stripped; a blank line always ends one, an abbreviation or an initial never does."""
    short = re.compile(rf"(?i:{ABBREVIATIONS.get(language, '')})|[^\W\d_I]")
    out, start = [], 0
    for match in _END.finditer(text):
        if text[match.start()] == ".":
            word = _LAST_WORD.search(text, max(start, match.start() - 12), match.start() + 1)
            if word and short.fullmatch(word[1]):
                continue
        out.append(text[start : match.end()])
        start = match.end()
    out.append(text[start:])
    return [s for s in map(str.strip, out) if s]


def split_all(texts: pa.Array | pa.ChunkedArray, language: str = "en") -> tuple[pa.Array, np.ndarray]:
    """(sentences, the text each came from)."""
    parts = [split(t.as_py() or "", language) for t in texts]
    parent = np.repeat(np.arange(len(parts)), [len(p) for p in parts])
    return pa.array([s for part in parts for s in part], type=pa.large_string()), parent
