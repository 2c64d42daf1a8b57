"""What a user names when asking about "women of 23" or "half of this book and half of that": shares of attributes.

`given` is one of

- None: the average text,
- a mapping of columns to values, {"gender": "f", "age": 23}; columns that are not named stay at their average,
- a name, such as `f`, `gender=f`, `gender:f` or `20s/f`, which is short for such a mapping,
- a weighted sum of names, `0.5*gender:f + 0.5*gender:m - age:20s`.

A attributes, P profiles, Q columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from atd.design import Column, Design
from atd.errors import AtdError
from atd.expression import nearest_names, parse

Profile: TypeAlias = Mapping[str, Any]  # column: value, or value: share
DASHES = str.maketrans(dict.fromkeys("‐‑‒–—―−", "-"))


def resolve(given: str | Profile | None, design: Design) -> tuple[np.ndarray, np.ndarray]:
    """(the weight of each profile (P), the share that every attribute has in it (P×A))."""
    if given is None:
        return np.ones(1), shares({}, design)[None]
    if isinstance(given, Mapping):
        return np.ones(1), shares(given, design)[None]
    weights, profiles = named(given, design)
    return weights, np.stack([shares(profile, design) for profile in profiles])


def shares(profile: Profile, design: Design) -> np.ndarray:
    """The share of every attribute in a profile (A).

    In a term whose columns are all known it is 1 for the one combination. Of the columns that are not known the mean
    over the training text is taken, among the combinations that have the known values. Text of attributes that joined
    a frozen model counts only where there is no other.
    """
    known = {column_place(name, design): value for name, value in profile.items()}
    known_Q = {q: value_shares(design.columns[q], value) for q, value in known.items()}
    words_A = design.words_A if len(design.words_A) else np.ones(len(design.term_A))
    base_A = words_A if design.base_A is None else design.base_A
    out, first = [], 0
    for term, codes in zip(design.terms, design.combinations, strict=True):
        words, base = (counts[first : first + len(codes)] for counts in (words_A, base_A))
        first += len(codes)
        fixed = [j for j, q in enumerate(term) if q in known_Q]
        _, same = np.unique(codes[:, fixed], axis=0, return_inverse=True)
        same = same.reshape(-1)
        words = np.where(np.bincount(same, base)[same] > 0, base, words)
        total = np.bincount(same, words)[same]
        within = np.divide(words, total, out=np.zeros(len(codes)), where=total > 0)
        within = within if len(fixed) < len(term) else np.ones(len(codes))
        out.append(within * np.prod([known_Q[term[j]][codes[:, j]] for j in fixed], axis=0))
    return np.concatenate(out)


def named(text: str, design: Design) -> tuple[np.ndarray, list[Profile]]:
    """The profiles of a weighted sum of names, and their weights."""
    aliases = _aliases(design) | _numbers(text, design)
    names = list(aliases)
    owners = [column.name for column in design.columns if text in column.values]
    if text not in aliases and owners:
        raise AtdError(f"{text!r} is a value of {' and '.join(owners)}; say which, such as {owners[0]}={text}")
    try:
        weights = parse(text, names)
    except AtdError as error:
        plain = {_plain(name): name for name in reversed(names)}
        try:
            found = parse(_plain(text), list(plain))
        except AtdError:
            raise _unknown(text, design, error) from None
        names, weights = list(plain.values()), found
    chosen = np.flatnonzero(weights.numpy())
    if not len(chosen):
        raise AtdError(f"the mix {text!r} has weight 0 everywhere")
    return weights.numpy()[chosen].astype(np.float64), [aliases[names[i]] for i in chosen]


def _unknown(text: str, design: Design, error: AtdError) -> AtdError:
    for column in design.columns:
        start = re.match(re.escape(column.name) + r"\s*[=:]\s*", text, re.IGNORECASE)
        if start and len(design.columns) > 1:
            value = text[start.end() :]
            near = nearest_names(value, column.values) or list(column.values[:5])
            return AtdError(f"column {column.name!r} has no value {value!r}; did you mean {', '.join(near)}?")
    return error


def _aliases(design: Design) -> dict[str, Profile]:
    """Every way to write a combination of values, and what it means. The names of attributes come first."""
    out: dict[str, Profile] = {}
    names = iter(design.names)
    for term, codes in zip(design.terms, design.combinations, strict=True):
        for row in codes:
            values = {design.columns[q].name: design.columns[q].values[i] for q, i in zip(term, row, strict=True)}
            out[next(names)] = values
    alone: dict[str, list[Profile]] = {}
    for column in design.columns:
        for value in column.values:
            out.setdefault(f"{column.name}={value}", {column.name: value})
            out.setdefault(f"{column.name}:{value}", {column.name: value})
            alone.setdefault(value, []).append({column.name: value})
    for value, meanings in alone.items():
        if len(meanings) == 1:
            out.setdefault(value, meanings[0])
    return out


def _numbers(text: str, design: Design) -> dict[str, Profile]:
    """Numbers between knots that a text names, as in age=23.5."""
    out: dict[str, Profile] = {}
    for column in design.columns:
        if column.knots is None:
            continue
        for found in re.finditer(re.escape(column.name) + r"[=:](-?\d+(?:\.\d+)?)", text):
            out[found[0]] = {column.name: float(found[1])}
    return out


def _plain(text: str) -> str:
    """Without what is hard to type: dashes as hyphens, small letters."""
    return text.translate(DASHES).casefold().strip()


def column_place(name: str, design: Design) -> int:
    names = [column.name for column in design.columns]
    if name not in names:
        raise AtdError(f"there is no column {name!r}; the columns are {', '.join(names)}")
    return names.index(name)


def value_shares(column: Column, value: Any) -> np.ndarray:
    """The share of each of a column's values."""
    if isinstance(value, Mapping):
        return sum((share * value_shares(column, one) for one, share in value.items()), np.zeros(len(column.values)))
    if column.knots is None:
        value = _spelt(column, str(value))
    ids, shares = column.encode([value])
    return np.bincount(ids[0], shares[0], len(column.values))


def _spelt(column: Column, value: str) -> str:
    if value in column.values:
        return value
    alike = [known for known in column.values if _plain(known) == _plain(value)]
    if len(alike) == 1:
        return alike[0]
    near = nearest_names(value, column.values) or list(column.values[:5])
    raise AtdError(f"column {column.name!r} has no value {value!r}; did you mean {', '.join(near)}?")
