"""A number stays on one line with its deviation, its unit, its exponent and the other end of its interval."""

from __future__ import annotations

import re

MARKUP = re.compile(r"(<(pre|code|math|script|style)\b.*?</\2>|<[^>]+>)", flags=re.S)
UNITS = "ms|µs|s|min|h|kB|MB|GB|TB|M|G|T"
HELD = re.compile(
    rf"(?<=[\d%)]) (?=[±%])|(?<=±) (?=\d)|(?<=\d) (?=(?:{UNITS})\b)"
    r"|(?<=\d) (?=to [−+]?[\d.]+\))|(?<=\d\u00a0to) (?=[−+]?[\d.])|(?<=\d) (?=/ \.?\d)"
)
EXPONENT = re.compile(r"\d[\d.]*e[-−]\d+")
NUMBERS = re.compile(r"(?<=>)(?:to|[\s\d.,;/±%()−–+-]){3,14}(?=</td>)")


def held(text: str) -> str:
    text = HELD.sub("\u00a0", HELD.sub("\u00a0", text))  # "to" and what follows it take a second look
    return EXPONENT.sub(r'<span class="held">\g<0></span>', text)


def on_page_content(html: str, **_) -> str:
    pieces = MARKUP.split(html)
    # Of three pieces the first is text, the second markup, the third the name of a tag that was closed.
    html = "".join(held(text) + markup for text, markup in zip(pieces[::3], [*pieces[1::3], ""], strict=True))
    return NUMBERS.sub(r'<span class="held">\g<0></span>', html)
