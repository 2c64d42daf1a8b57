"""Equations as MathML when the site is built: blocks of the language `math`, and $`…`$ in a sentence, as on GitHub."""

from __future__ import annotations

import re

from latex2mathml.converter import convert

BLOCK = re.compile(r"^```math\n(.*?)\n```$", flags=re.M | re.S)
INLINE = re.compile(r"\$`(.+?)`\$")
KEPT = re.compile(r"@equation(\d+)@")
equations: list[str] = []  # of the page at hand; Markdown must not look into them


def keep(html: str) -> str:
    equations.append(html)
    return f"@equation{len(equations) - 1}@"


def mathml(latex: str, display: str = "inline") -> str:
    """The bars of a norm as high as what they hold, not as the fraction beside them."""
    return convert(latex, display=display).replace("<mo>&#x02016;</mo>", '<mo stretchy="false">&#x02016;</mo>')


def on_page_markdown(markdown: str, **_) -> str:
    equations.clear()
    markdown = BLOCK.sub(lambda m: keep(f'<div class="equation">{mathml(m[1], "block")}</div>'), markdown)
    return INLINE.sub(lambda m: keep(mathml(m[1])), markdown)


def on_page_content(html: str, **_) -> str:
    html = re.sub(r"<p>(@equation\d+@)</p>", r"\1", html)
    return KEPT.sub(lambda m: equations[int(m[1])], html)
