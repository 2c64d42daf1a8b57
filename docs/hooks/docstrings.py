"""Docstrings for the reference: a mark such as <s> is a word of a text, no tag that strikes out what follows."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

CODE = re.compile(r"(`[^`]*`|^ {4}.*$)", flags=re.M)
TAG = re.compile(r"<(?=[/\w])")


def plain(text: str) -> str:
    """Without tags, but for what is code: there they show as they are."""
    return "".join(piece if CODE.fullmatch(piece) else TAG.sub("&lt;", piece) for piece in CODE.split(text))


class Tags(Extension):
    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = plain(obj.docstring.value)
