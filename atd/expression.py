"""Weighted mixes of attributes as a person writes them: `0.5*bible-kjv + 0.5*shakespeare-caesar - carroll-alice`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

import torch
from torch import Tensor

from atd.errors import AtdError

SIGN = re.compile(r"\s*([+\-−]?)\s*")
FACTOR = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*[*×·]\s*")
NEXT_TERM = re.compile(r"\s+[+\-−]\s|\s*$")


def parse(text: str, names: Sequence[str]) -> Tensor:
    """The weight of every attribute in `names` (A). The mixed vector is `parse(text, names) @ vectors_AD`.

    Names may hold any characters, signs and digits included: a text that is a name is that name, even `-1` or
    `2*x`, and so is each part of a sum, so that `m/30/arts - f/20/arts` needs no quotes. Of several names the longest
    counts. Without a factor the weight is 1.
    """
    index = {name: i for i, name in enumerate(names)}
    weights = torch.zeros(len(names))
    if text in index:
        weights[index[text]] = 1
        return weights
    if not text.strip():
        raise AtdError("the mix is empty; name at least one attribute" + (f", such as {names[0]!r}" if names else ""))
    longest_first = sorted(filter(None, index), key=len, reverse=True)

    def name_at(place: int) -> str | None:
        return next((n for n in longest_first if text.startswith(n, place) and _ends(text, place + len(n))), None)

    at = begin = len(text) - len(text.lstrip())
    while at < len(text.rstrip()):
        weight, name = 1.0, name_at(at) if at == begin else None
        if name is None:
            sign = SIGN.match(text, at)
            assert sign is not None  # every part of it is optional
            if at > begin and not sign[1]:
                raise AtdError(f"mix {text!r}: expected + or - before {text[at:].strip()!r}")
            weight, at = -1.0 if sign[1] in ("-", "−") else 1.0, sign.end()
            name = name_at(at)
        if name is None and (factor := FACTOR.match(text, at)):
            weight, at = weight * float(factor[1]), factor.end()
            name = name_at(at)
        if name is None:
            raise _unknown(text, at, names)
        weights[index[name]] += weight
        at += len(name)
    return weights


def nearest_names(name: str, names: Sequence[str], n: int = 3) -> list[str]:
    """Names spelt like `name`, or else those that contain it."""
    close = difflib.get_close_matches(name, names, n=n, cutoff=0.5)
    return close or [other for other in names if name and name.lower() in other.lower()][:n]


def _ends(text: str, at: int) -> bool:
    """Whether a name may end here: at the end, a blank or a sign, unless it is the factor of another."""
    if at == len(text):
        return True
    return (text[at].isspace() or text[at] in "+-−") and text[at:].lstrip()[:1] not in ("*", "×", "·")


def _unknown(text: str, at: int, names: Sequence[str]) -> AtdError:
    wrong = NEXT_TERM.split(text[at:], maxsplit=1)[0]
    near = nearest_names(wrong, names) or list(names[:3])
    return AtdError(f"no attribute is called {wrong!r}; did you mean {', '.join(near)}?")
