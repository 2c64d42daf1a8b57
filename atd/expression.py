"""Weighted mixes of attributes as a person writes them: `0.5*bible-kjv + 0.5*shakespeare-caesar - carroll-alice`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

import torch
from torch import Tensor

from atd.errors import AtdError

TERM = re.compile(r"\s*(?P<sign>[+\-−]?)\s*(?:(?P<factor>\d+(?:\.\d*)?|\.\d+)\s*[*×·]\s*)?")
NEXT_TERM = re.compile(r"\s+[+\-−]\s|\s*$")


def parse(text: str, names: Sequence[str]) -> Tensor:
    """The weight of every attribute in `names` (A). The mixed vector is `parse(text, names) @ vectors_AD`.

    Names may hold any characters, signs and digits included: a text that is a name is that name, even `-1` or
    `2*x`, and at each place of a sum the longest known name counts, so `m/30/arts - f/20/arts` needs no quotes.
    Without a factor the weight is 1.
    """
    index = {name: i for i, name in enumerate(names)}
    weights = torch.zeros(len(names))
    if text in index:
        weights[index[text]] = 1
        return weights
    longest_first = sorted(index, key=len, reverse=True)
    at = 0
    while at < len(text.rstrip()):
        term = TERM.match(text, at)
        assert term is not None  # every part of it is optional
        if at and not term["sign"]:
            raise AtdError(f"mix {text!r}: expected + or - before {text[at:].strip()!r}")
        at = term.end()
        name = next((n for n in longest_first if text.startswith(n, at) and _ends(text, at + len(n))), None)
        if name is None:
            raise _unknown(text, at, names)
        weights[index[name]] += (-1 if term["sign"] in ("-", "−") else 1) * float(term["factor"] or 1)
        at += len(name)
    if not text.strip():
        raise AtdError(f"the mix is empty: name at least one attribute, such as {names[0]!r}")
    return weights


def nearest_names(name: str, names: Sequence[str], n: int = 3) -> list[str]:
    """Names spelt like `name`, or else those that contain it."""
    close = difflib.get_close_matches(name, names, n=n, cutoff=0.5)
    return close or [other for other in names if name and name.lower() in other.lower()][:n]


def _ends(text: str, at: int) -> bool:
    return at == len(text) or text[at].isspace() or text[at] in ("+", "-", "−")


def _unknown(text: str, at: int, names: Sequence[str]) -> AtdError:
    wrong = NEXT_TERM.split(text[at:], maxsplit=1)[0]
    near = nearest_names(wrong, names) or list(names[:3])
    return AtdError(f"no attribute is called {wrong!r}; did you mean {', '.join(near)}?")
