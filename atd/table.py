"""A table of texts: its columns out of whatever holds them, and its rows as an encoded corpus.

Tables are data frames of pandas or polars, Arrow tables, mappings of columns, or lists of rows that are mappings. None
of these libraries is imported: a column is asked for by its name, and for its values as a list.

n rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from atd.design import MISSING, Codes, Column, Design, as_text
from atd.encoded import EncodedCorpus
from atd.encoding import count_vocabulary, ids
from atd.errors import AtdError
from atd.tokeniser import Tokeniser
from atd.trained import Trained

TRAIN, VALIDATION, TEST = range(3)  # the parts of a split
MANY = 1000  # values of a column that may be as many as half of its rows


def is_table(data: Any) -> bool:
    """Whether it has columns with names; else it is a column itself, such as a list of texts."""
    if isinstance(data, Mapping) or hasattr(data, "columns") or hasattr(data, "column_names"):
        return True
    return isinstance(data, Sequence) and not isinstance(data, str) and len(data) > 0 and isinstance(data[0], Mapping)


def names_of(table: Any) -> list[str]:
    """The names of a table's columns."""
    if isinstance(table, Mapping):
        return list(table)
    if hasattr(table, "column_names"):
        return list(table.column_names)
    if hasattr(table, "columns"):
        return list(table.columns)
    return list(dict.fromkeys(name for row in table for name in row))


def column_of(table: Any, name: str) -> list[Any]:
    """The values of a column (n); what is missing is None or NaN."""
    if name not in (names := names_of(table)):
        raise AtdError(f"there is no column {name!r}; the columns are {', '.join(map(str, names))}")
    if isinstance(table, Sequence):
        return [row.get(name) for row in table]
    return values_of(table[name])


def values_of(column: Any) -> list[Any]:
    """A column of any kind as a list."""
    if hasattr(column, "isna") and hasattr(column, "astype"):  # pandas, whose NA is neither None nor unlike itself
        missing_n = column.isna().tolist()
        return [None if gone else value for value, gone in zip(column.tolist(), missing_n, strict=True)]
    if isinstance(column, np.ndarray) and column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    for method in ("to_pylist", "to_list", "tolist"):  # Arrow, polars, NumPy
        if hasattr(column, method):
            return getattr(column, method)()
    return list(column)


def texts_of(data: Any, text: str = "text") -> list[str]:
    """The texts of a table's column, or a column of texts itself; one text alone is a list of one."""
    if isinstance(data, str):
        return [data]
    texts = column_of(data, text) if is_table(data) else values_of(data)
    texts = ["" if one is None or one != one else one for one in texts]
    strange = next((i for i, one in enumerate(texts) if not isinstance(one, str)), None)
    if strange is not None:
        kind = type(texts[strange]).__name__
        raise AtdError(f"row {strange + 1}: {kind} is not text; give texts, or name their column, such as text='text'")
    return texts


def check_texts(texts: Sequence[str]) -> None:
    """Every row that is learned from has a text."""
    empty = [i for i, one in enumerate(texts) if not one.strip()]
    if empty or not len(texts):
        first = f" (first: row {empty[0] + 1})" if empty else ""
        raise AtdError(f"{len(empty)} of {len(texts)} rows have no text{first}; leave them out")


def check_names(name: str, values_n: Sequence[Any]) -> None:
    """A column of names has some, and fewer than texts."""
    names = set(map(as_text, values_n))
    if names == {MISSING}:
        raise AtdError(f"column {name!r} is empty in every row; leave it out")
    if len(names) > max(MANY, len(values_n) / 2):
        many = f"{len(names):,} values in {len(values_n):,} rows"
        raise AtdError(f"column {name!r} has {many}, as identifiers do; if it holds numbers, call it continuous")


def design_of(
    values: Mapping[str, Sequence[Any]],
    terms: Sequence[tuple[str, ...]],
    knots: Mapping[str, int],
    old: Design | None = None,
) -> tuple[Design, np.ndarray, np.ndarray | None]:
    """(what the columns make, the attributes of every row, their shares). Columns in `knots` hold numbers.

    The columns of an `old` design, the same ones, are joined.
    """
    columns = [
        Column.of_numbers(name, column, knots[name]) if name in knots else Column.of_names(name, column)
        for name, column in values.items()
    ]
    if old is not None:
        columns = [before.joined(column) for before, column in zip(old.columns, columns, strict=True)]
    codes: list[Codes] = [column.encode(values[column.name]) for column in columns]
    names = list(values)
    design = Design.of(columns, [tuple(names.index(name) for name in term) for term in terms], codes, old)
    return design, *design.encode(codes)


def encode_table(
    texts: Sequence[str],
    values: Mapping[str, Sequence[Any]],
    terms: Sequence[tuple[str, ...]],
    knots: Mapping[str, int],
    tokeniser: Tokeniser,
    min_count: int = 1,
    max_size: int | None = None,
    holdout: float = 0.1,
    split_seed: int = 0,
    group_n: Sequence[Any] | None = None,
    old: Trained | None = None,
) -> tuple[EncodedCorpus, np.ndarray]:
    """(the rows in the order of their parts, the part of every row as they came).

    A share `holdout` of the rows is for validation, and as much again for test; words are counted on the others. Words
    and attributes of an `old` model are there in any case.
    """
    check_texts(texts)
    for name, column in values.items():
        if len(column) != len(texts):
            raise AtdError(f"column {name!r} has {len(column)} values for {len(texts)} texts")
        if name not in knots:
            check_names(name, column)
    design, attributes, shares = design_of(values, terms, knots, None if old is None else old.design)
    groups = None if group_n is None else np.unique(list(map(as_text, group_n)), return_inverse=True)[1]
    split_n = random_split(attributes, holdout, split_seed, groups) if holdout else np.zeros(len(texts), np.int8)
    order = np.argsort(split_n, kind="stable")
    tokens = tokeniser.folded([texts[i] for i in order])
    train, before = split_n[order] == TRAIN, None if old is None else old.vocabulary
    vocabulary = count_vocabulary(tokens, min_count, max_size, train, before)
    meta = {"vocabulary": vocabulary.state(), "attributes": design.names, "design": design.state()}
    shares = None if shares is None else shares[order]
    columns = {"split": split_n[order]}
    found = EncodedCorpus(ids(tokens, vocabulary), tokens.offsets, attributes[order], columns, meta, shares=shares)
    return found, split_n


def random_split(attributes: np.ndarray, share: float, seed: int, group_n: np.ndarray | None = None) -> np.ndarray:
    """The split (0 train, 1 val, 2 test) of each row; rows of one group share it.

    In random order, the first group that has an attribute is train's. Without groups every row is its own.
    """
    n = len(attributes)
    group_n = np.arange(n) if group_n is None else np.unique(group_n, return_inverse=True)[1].reshape(-1)
    sizes = np.bincount(group_n)
    groups = np.random.default_rng(seed).permutation(len(sizes))  # in random order
    order = np.argsort(np.argsort(groups)[group_n], kind="stable")  # rows in the order of their group
    first = np.zeros(len(sizes), dtype=bool)
    for column in attributes[order].reshape(n, -1).T:
        first[group_n[order[np.unique(column, return_index=True)[1]]]] = True
    free = groups[~first[groups]]
    held = round(share * n)
    rows = np.cumsum(sizes[free])
    if not held or not len(rows) or rows[-1] < 2 * held:
        raise AtdError(
            f"{n} rows of {int(attributes.max()) + 1} attributes are too few to hold {share:.0%} out twice; use fewer "
            "attributes, ranges of numbers, or columns that add up, which needs every value in train, not every tuple"
        )
    part = np.zeros(len(sizes), dtype=np.int8)
    val, test = np.searchsorted(rows, [held, 2 * held])
    part[free[: val + 1]], part[free[val + 1 : test + 1]] = 1, 2
    return part[group_n]
