"""Columns as wide as what they hold: on a narrow screen a table scrolls, and no sentence has a word on each line."""

from __future__ import annotations

import re
from html import unescape
from itertools import zip_longest

TABLE = re.compile(r"<table>.*?</table>", flags=re.S)
ROW = re.compile(r"<tr>(.*?)</tr>", flags=re.S)
CELL = re.compile(r"<(t[hd])[^>]*>(.*?)</\1>", flags=re.S)
HEAD = re.compile(r"<th(?: style=\"([^\"]*)\")?>")
CODE = re.compile(r"(?<=<code>)[^<]+(?=</code>)")
SEAM = re.compile(r"(?<=[\w>\])}])([/=,])(?=[\w<\[({'\"*])")

LINES = 5  # a cell should not be higher
WIDEST = 18  # em


def text_of(cell: str) -> str:
    return unescape(re.sub(r"<math.*?</math>", "x", re.sub(r"<(?!/?math)[^>]+>", "", cell), flags=re.S))


def width(texts: list[str]) -> float:
    """In em, of the longest of these in so many lines; a letter is half an em wide."""
    return min(WIDEST, max(map(len, texts)) / LINES / 2)


def columns(match: re.Match) -> str:
    table = CODE.sub(lambda m: SEAM.sub(r"\1<wbr>", m[0]), match[0])
    cells = [[text_of(cell) for _, cell in CELL.findall(row)] for row in ROW.findall(table)]
    widths = iter([width(list(column)) for column in zip_longest(*cells, fillvalue="")])

    def head(th: re.Match) -> str:
        em = next(widths)
        style = [th[1].rstrip(";")] if th[1] else []
        style += [f"min-width: {em:.1f}em"] if em > 4 else []
        return f'<th style="{"; ".join(style)}">' if style else "<th>"

    return HEAD.sub(head, table)


def on_page_content(html: str, **_) -> str:
    return TABLE.sub(columns, html)
