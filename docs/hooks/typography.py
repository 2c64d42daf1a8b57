"""A number stays on one line with its deviation and its unit."""

from __future__ import annotations

import re

HELD = re.compile(r"(?<=[\d%)]) (?=[±%])|(?<=±) (?=\d)")


def on_page_content(html: str, **_) -> str:
    return HELD.sub("\u00a0", html)
