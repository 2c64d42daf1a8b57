"""A user's own table: a text and some attributes in every row."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from atd.design import KNOTS, MISSING, Codes, Column, Design, terms_of
from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.settings import TEXT, Rule, either, listed, mapped, number, optional, whole
from datamodules.corpus import Corpus, by_split
from datamodules.encode import count_vocabulary, ids
from datamodules.readers.table import read_table

COMPOSE = Rule(lambda v: isinstance(v, bool) or v == "residual", "true, false or residual")
COLUMNS = Rule(lambda v: listed(TEXT).fits(v) and len(v) > 0, "a list of columns, such as [age,gender]")


class TableCorpus(Corpus):
    """A row is a document. Each value of each column of `attributes` has a vector (age=20s, gender=f), and those of a
    text add up. `formula` says it otherwise: with `age*gender + industry` pairs of age and gender have vectors, too.
    `compose=false` is the formula `age:gender`, where only tuples have vectors (20s/f); `compose=residual` gives each
    tuple one besides, for what it adds to the sum of its values. Values of a single column are named alone (20s).

    Columns of numbers: those in `continuous` have vectors at a few knots, five unless {year: 9} says otherwise, and a
    number between two knots has a share of both. `bins` makes ranges instead, {age: 4} four of equal counts.

    `holdout` is the share of rows for validation, and as much again for test; `split_seed` draws them, apart from the
    seed of training. With `group` all rows that have one value in that column, say an author, are on one side. Every
    attribute that occurs at all occurs in train, and a value that is not there is one of its own, `missing`. `text` is
    the column of text; a row without any is an error, or left out with `drop_empty`.
    """

    def __init__(
        self,
        *,
        text: str,
        attributes: Annotated[Sequence[str] | None, optional(COLUMNS)] = None,
        formula: Annotated[str | None, optional(TEXT)] = None,
        compose: Annotated[bool | str, COMPOSE] = True,
        continuous: Annotated[Sequence[str] | Mapping[str, int], either(listed(TEXT), mapped(whole(2)))] = (),
        bins: Annotated[Mapping[str, int] | None, optional(mapped(whole(2)))] = None,
        holdout: Annotated[float, number(0, 0.3, open_low=True)] = 0.1,
        split_seed: Annotated[int, whole(0)] = 0,
        group: Annotated[str | None, optional(TEXT)] = None,
        drop_empty: bool = False,
        **common: Any,
    ):
        super().__init__(**common)
        if (attributes is None) == (formula is None):
            raise AtdError("data.attributes, data.formula: give one of them, such as data.attributes=[age,gender]")
        self.text = text
        self.terms = terms_of(formula) if formula else terms_of_columns(list(attributes or ()), compose)
        self.chosen = list(dict.fromkeys(itertools.chain(*self.terms)))
        self.knots = dict(continuous if isinstance(continuous, Mapping) else dict.fromkeys(continuous, KNOTS))
        self.bins = dict(bins or {})
        self.holdout = holdout
        self.split_seed = split_seed
        self.group = group
        self.drop_empty = drop_empty
        for setting, columns in (("bins", self.bins), ("continuous", self.knots)):
            if strange := [column for column in columns if column not in self.chosen]:
                raise AtdError(
                    f"data.{setting}.{strange[0]}: not among data.attributes, which are {', '.join(self.chosen)}"
                )

    def inputs(self) -> list[Path]:
        if not self.path.is_file():
            raise AtdError(f"data.path={self.path}: no such table")
        return [self.path]

    def settings(self) -> dict[str, Any]:
        names = ("text", "terms", "knots", "bins", "holdout", "split_seed", "group", "drop_empty")
        return {name: getattr(self, name) for name in names}

    def build(self) -> EncodedCorpus:
        extra = [self.group] if self.group and self.group not in self.chosen else []
        table = read_table(self.path, self.text, [*self.chosen, *extra], self.drop_empty)
        values = {name: self._values(name, table[name]) for name in self.chosen if name not in self.knots}
        design, attributes, shares = self._design(table, values)
        split = random_split(attributes, self.holdout, self.split_seed, self._groups(table))
        order = by_split(split)
        tokens = self.tokeniser.folded(table["text"].take(pa.array(order)))
        vocabulary = count_vocabulary(tokens, self.min_count, self.max_size, documents=split[order] == 0)
        columns = {"split": split[order]} | {name: column.take(pa.array(order)) for name, column in values.items()}
        meta = {"vocabulary": vocabulary.state(), "attributes": design.names, "design": design.state()}
        shares = None if shares is None else shares[order]
        tokens_n = ids(tokens, vocabulary)
        return EncodedCorpus(tokens_n, tokens.offsets, attributes[order], columns, meta, shares=shares)

    def _values(self, name: str, column: pa.ChunkedArray) -> pa.DictionaryArray:
        """The column as names, ranges of numbers in their order."""
        column = column.combine_chunks()
        if name in self.bins:
            return binned(self.path, name, column, self.bins[name])
        return by_name(pc.fill_null(column, MISSING))

    def _design(
        self, table: pa.Table, values: Mapping[str, pa.DictionaryArray]
    ) -> tuple[Design, np.ndarray, np.ndarray | None]:
        """(the design, the attributes of every row, their shares)."""
        columns, codes = [], []
        for name in self.chosen:
            if name in self.knots:
                numbers = numbers_of(self.path, name, table[name].combine_chunks(), "data.continuous")
                columns.append(Column.of_numbers(name, numbers, self.knots[name]))
                codes.append(columns[-1].encode(numbers))
            else:
                column, code = coded(name, values[name])
                columns.append(column)
                codes.append(code)
        terms = [tuple(self.chosen.index(name) for name in term) for term in self.terms]
        design = Design.of(columns, terms, codes)
        return design, *design.encode(codes)

    def _groups(self, table: pa.Table) -> np.ndarray | None:
        """The number of every row's group."""
        if self.group is None:
            return None
        return by_name(pc.fill_null(table[self.group].combine_chunks(), MISSING)).indices.to_numpy()


def terms_of_columns(columns: list[str], compose: bool | str) -> list[tuple[str, ...]]:
    """What `compose` means: every column a term, all columns one term, or both."""
    alone: list[tuple[str, ...]] = [(column,) for column in columns]
    if compose is False or len(columns) == 1:
        return [tuple(columns)]
    return [*alone, tuple(columns)] if compose == "residual" else alone


def coded(name: str, values: pa.DictionaryArray) -> tuple[Column, Codes]:
    """A column of names and the code of every row."""
    ids_n1 = values.indices.to_numpy().astype(np.int32)[:, None]
    return Column(name, values.dictionary.to_pylist()), (ids_n1, np.ones(ids_n1.shape, np.float32))


def by_name(column: pa.Array) -> pa.DictionaryArray:
    """The column as names, sorted."""
    encoded = column.dictionary_encode()
    return _sorted(encoded, sorted(encoded.dictionary.to_pylist()))


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
    return _sorted(pa.array([names.get(b, MISSING) for b in bin_of.tolist()]).dictionary_encode(), order)


def random_split(attributes: np.ndarray, share: float, seed: int, group_n: np.ndarray | None = None) -> np.ndarray:
    """The split (0 train, 1 val, 2 test) of each row; rows of one group share it.

    In random order, the first group that has an attribute is train's. Without groups every row is its own.
    """
    n = len(attributes)
    group_n = np.arange(n) if group_n is None else np.unique(group_n, return_inverse=True)[1].reshape(-1)
    sizes = np.bincount(group_n)
    rank = np.argsort(np.random.default_rng(seed).permutation(len(sizes)))[group_n]  # rows in the order of their group
    order = np.argsort(rank, kind="stable")
    first = np.zeros(len(sizes), dtype=bool)
    for column in attributes[order].reshape(n, -1).T:
        first[group_n[order[np.unique(column, return_index=True)[1]]]] = True
    free = np.array([g for g in dict.fromkeys(group_n[order].tolist()) if not first[g]], dtype=np.int64)
    held = round(share * n)
    rows = np.cumsum(sizes[free])
    if not held or not len(rows) or rows[-1] < 2 * held:
        raise AtdError(
            f"{n} rows of {int(attributes.max()) + 1} attributes are too few to hold {share:.0%} out twice; "
            "use fewer attributes, data.bins or data.compose=true, which needs every value in train, not every tuple"
        )
    part = np.zeros(len(sizes), dtype=np.int8)
    val, test = np.searchsorted(rows, [held, 2 * held])
    part[free[: val + 1]], part[free[val + 1 : test + 1]] = 1, 2
    return part[group_n]


def _sorted(column: pa.DictionaryArray, names: list[str]) -> pa.DictionaryArray:
    """The same values, the dictionary in this order."""
    place = pc.index_in(column.dictionary, pa.array(names)).to_numpy().astype(np.int32)
    return pa.DictionaryArray.from_arrays(place[column.indices.to_numpy()], names)
