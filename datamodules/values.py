"""Columns of a table as numbers: names, ranges of numbers, and how often a row counts.

n rows.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from atd.design import MISSING, Codes, Column
from atd.errors import AtdError

VALUE = "value:"  # before the name of a user's column, which may be `split` or `group` as ours are
PARTS = {"train": 0, "val": 1, "dev": 1, "valid": 1, "validation": 1, "test": 2}  # the split that a word stands for
MANY = 1000  # values of a column that may be as many as half of its rows
MOST = 10  # rows that weights make of one, on average


def named(path: Path, name: str, column: pa.Array) -> pa.DictionaryArray:
    """A column of names; one that has none, or nearly as many as rows, is an error."""
    if column.null_count == len(column):
        raise AtdError(f"{path}: column {name!r} is empty in every row; leave it out of data.attributes")
    values = by_name(pc.fill_null(column, MISSING))
    if len(values.dictionary) > max(MANY, len(values) / 2):
        many = f"{len(values.dictionary):,} values in {len(values):,} rows"
        fix = f"data.continuous=[{name}] or data.bins={{{name}: 4}} if it holds numbers, or choose another column"
        raise AtdError(f"{path}: column {name!r} has {many}, as identifiers do; use {fix}")
    return values


def coded(name: str, values: pa.DictionaryArray, old: Column | None = None) -> tuple[Column, Codes]:
    """A column of names, after those of an old one, and the code of every row."""
    names = values.dictionary.to_pylist()
    column = Column(name, names) if old is None else old.joined(Column(name, names))
    place = {value: i for i, value in enumerate(column.values)}
    ids_n1 = np.array([place[value] for value in names], np.int32)[values.indices.to_numpy()][:, None]
    return column, (ids_n1, np.ones(ids_n1.shape, np.float32))


def by_name(column: pa.Array) -> pa.DictionaryArray:
    """The column as names, sorted."""
    encoded = column.dictionary_encode()
    return in_order(encoded, sorted(encoded.dictionary.to_pylist()))


def given_split(path: Path, name: str, column: pa.Array) -> np.ndarray:
    """The part of every row that a column names (n): 0 train, 1 val, 2 test."""
    words = by_name(pc.ascii_lower(pc.utf8_trim_whitespace(column)))
    found = words.dictionary.to_pylist()
    if strange := [word for word in found if word not in PARTS]:
        raise AtdError(f"{path}: column {name!r} says {strange[0]!r}; data.split needs train, val or test, or nothing")
    parts = np.array([PARTS[word] for word in found], np.int8)
    if missing := [part for part in ("train", "val", "test") if PARTS[part] not in parts]:
        raise AtdError(f"{path}: column {name!r} never says {missing[0]}; data.split needs train, val and test")
    return parts[words.indices.to_numpy()]


def numbers_of(path: Path, name: str, column: pa.Array, setting: str) -> np.ndarray:
    """The column as numbers; NaN where it is missing."""
    try:
        return pc.cast(pc.utf8_trim_whitespace(column), pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid as error:
        raise AtdError(f"{path}: {setting} needs numbers in {name!r} ({str(error).splitlines()[0]})") from None


def binned(path: Path, name: str, column: pa.Array, n: int) -> pa.DictionaryArray:
    """Ranges of nearly equal counts, named by the smallest and largest value that occur in them."""
    numbers = numbers_of(path, name, column, "data.bins")
    known = np.isfinite(numbers)
    if not known.any():
        raise AtdError(f"{path}: column {name!r} holds no number to make ranges of")
    edges = np.unique(np.quantile(numbers[known], np.linspace(0, 1, n + 1)[1:-1]))
    bin_of = np.where(known, np.searchsorted(edges, numbers, side="right"), -1)
    names = {}
    for b in np.unique(bin_of[known]):
        inside = numbers[bin_of == b]
        low, high = f"{inside.min():g}", f"{inside.max():g}"
        names[b] = low if low == high else f"{low}–{high}"
    order = list(names.values()) + [MISSING] * (not known.all())
    return in_order(pa.array([names.get(b, MISSING) for b in bin_of.tolist()]).dictionary_encode(), order)


def repeats(path: Path, name: str, weights: np.ndarray, seed: int) -> np.ndarray:
    """Weights as whole numbers (n): the fraction is drawn."""
    fine = np.isfinite(weights) & (weights >= 0)
    if not fine.all():
        row = int(np.flatnonzero(~fine)[0]) + 1
        raise AtdError(f"{path}: data.weights needs a number, 0 or more, in every row of {name!r}; row {row} has none")
    if not 0 < weights.mean() <= MOST:
        mean = f"{weights.mean():g} on average"
        raise AtdError(f"{path}: the weights in {name!r} are {mean}; scale them, best to 1 on average")
    whole = np.floor(weights)
    return (whole + (np.random.default_rng(seed).random(len(weights)) < weights - whole)).astype(np.int64)


def kept(times: np.ndarray, train: np.ndarray, attributes: np.ndarray) -> np.ndarray:
    """The same, but for rows to train on (a mask) that are an attribute's last: they come once."""
    times, rows = times.copy(), np.flatnonzero(train)
    for column in attributes.reshape(len(times), -1).T:
        values, at = np.unique(column[rows], return_index=True)
        lost = ~np.isin(values, column[rows][times[rows] > 0])
        times[rows[at[lost]]] = 1
    return times


def in_order(column: pa.DictionaryArray, names: list[str]) -> pa.DictionaryArray:
    """The same values, the dictionary in this order."""
    place = pc.index_in(column.dictionary, pa.array(names)).to_numpy().astype(np.int32)
    return pa.DictionaryArray.from_arrays(place[column.indices.to_numpy()], names)
