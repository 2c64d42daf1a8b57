"""Texts with columns that describe them, whatever they are read from."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from atd.design import KNOTS, MISSING, Column, Design, terms_of
from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.joining import check_joinable
from atd.models import find_checkpoint, load
from atd.settings import TEXT, Rule, either, listed, mapped, number, optional, whole
from atd.table import random_split
from datamodules.cache import fingerprint
from datamodules.corpus import Corpus, by_split
from datamodules.gather import Gathered
from datamodules.readers.columns import Source
from datamodules.readers.files import counted
from datamodules.values import VALUE, binned, by_name, coded, given_split, named, numbers_of

COMPOSE = Rule(lambda v: isinstance(v, bool) or v == "residual", "true, false or residual")
COLUMNS = Rule(lambda v: listed(TEXT).fits(v) and len(v) > 0, "a list of columns, such as [age,gender]")
READER = 3  # raise when the same files are read otherwise


class Reader(Protocol):
    """Batches of text and of columns of names; afterwards, how each file was read."""

    sources: list[Source]

    def __iter__(self) -> Iterator[pa.Table]: ...


class Described(Corpus):
    """Each value of each column of `attributes` has a vector (age=20s, gender=f), and those of a text add up. `formula`
    says it otherwise: with `age*gender + industry` pairs of age and gender have vectors, too. `compose=false` is the
    formula `age:gender`, where only tuples have vectors (20s/f); `compose=residual` gives each tuple one besides, for
    what it adds to the sum of its values. Values of a single column are named alone (20s).

    Columns of numbers: those in `continuous` have vectors at a few knots, five unless {year: 9} says otherwise, and a
    number between two knots has a share of both. `bins` makes ranges instead, {age: 4} four of equal counts.

    `holdout` is the share of rows for validation, and as much again for test; `split_seed` draws them, apart from the
    seed of training. Or `split` is a column that says train, val or test; a row that says nothing there is left out.
    Of both, random rows with about `holdout_words` words are judged. With `group` all rows that have
    one value in that column, say an author, are on one side. Every attribute that occurs at all occurs in train, and a
    value that is not there is one of its own, `missing`.

    With `init_from` the rows join a trained model: its words and attributes come first, in their places.

    A subclass gives the `reader`.
    """

    more: Sequence[str] = ()  # columns to read besides

    def __init__(
        self,
        *,
        attributes: Annotated[Sequence[str] | None, optional(COLUMNS)] = None,
        formula: Annotated[str | None, optional(TEXT)] = None,
        compose: Annotated[bool | str, COMPOSE] = True,
        continuous: Annotated[Sequence[str] | Mapping[str, int], either(listed(TEXT), mapped(whole(2)))] = (),
        bins: Annotated[Mapping[str, int] | None, optional(mapped(whole(2)))] = None,
        holdout: Annotated[float, number(0, 0.3, open_low=True)] = 0.1,
        holdout_words: Annotated[int | None, optional(whole(1))] = None,
        split_seed: Annotated[int, whole(0)] = 0,
        split: Annotated[str | None, optional(TEXT)] = None,
        group: Annotated[str | None, optional(TEXT)] = None,
        init_from: Annotated[str | None, optional(TEXT)] = None,
        **common: Any,
    ):
        super().__init__(**common)
        self.trained_file = find_checkpoint(init_from) if init_from else None
        self.old = load(init_from) if init_from else None
        if attributes is None and formula is None and self.old is not None:
            self.terms = self.old.design.formula
        elif (attributes is None) == (formula is None):
            raise AtdError("data.attributes, data.formula: give one of them, such as data.attributes=[age,gender]")
        else:
            self.terms = terms_of(formula) if formula else terms_of_columns(list(attributes or ()), compose)
        self.chosen = list(dict.fromkeys(itertools.chain(*self.terms)))
        self.knots = dict(continuous if isinstance(continuous, Mapping) else dict.fromkeys(continuous, KNOTS))
        if self.old is not None:
            check_joinable(self.old, self.terms)
            self.knots = {c.name: len(c.knots) for c in self.old.design.columns if c.knots is not None}
        self.bins = dict(bins or {})
        self.holdout = holdout
        self.holdout_words = holdout_words
        self.split_seed = split_seed
        self.split = split
        self.group = group
        for setting, columns in (("bins", self.bins), ("continuous", self.knots)):
            if strange := [column for column in columns if column not in self.chosen]:
                raise AtdError(
                    f"data.{setting}.{strange[0]}: not among data.attributes, which are {', '.join(self.chosen)}"
                )

    def setup(self, stage: str | None = None) -> None:
        if self.encoded:
            return
        super().setup(stage)
        if self.holdout_words:
            for part in ("val", "test"):
                self.encoded[part] = self.encoded[part].sample(self.holdout_words)

    def reader(self, columns: list[str]) -> Reader:
        """Batches of Table(text, *columns), all strings."""
        raise NotImplementedError

    def times(self, table: pa.Table, split: np.ndarray, attributes: np.ndarray) -> np.ndarray:
        """How often every row comes (n)."""
        return np.ones(len(table), np.int64)

    def settings(self) -> dict[str, Any]:
        names = ("terms", "knots", "bins", "holdout", "split_seed", "split", "group")
        old = {"old": fingerprint([self.trained_file])} if self.trained_file else {}
        return {name: getattr(self, name) for name in names} | {"reader": READER} | old

    def build(self) -> EncodedCorpus:
        reader, texts, table = self._read()
        values = {name: self._values(name, table[name]) for name in self.chosen if name not in self.knots}
        design, attributes, shares = self._design(table, values)
        group = self._groups(table)
        split = self._split(table, attributes, group)
        times = self.times(table, split, attributes)
        order = by_split(split)
        order = np.repeat(order, times[order])
        before = None if self.old is None else self.old.vocabulary
        vocabulary = texts.vocabulary(np.where(split == 0, times, 0), self.min_count, self.max_size, before)
        tokens, offsets = texts.taken(order, vocabulary)
        columns: dict[str, Any] = {VALUE + name: column.take(pa.array(order)) for name, column in values.items()}
        columns["split"] = split[order]
        if group is not None:
            columns["group"] = group[order]
        meta: dict[str, Any] = {"vocabulary": vocabulary.state(), "attributes": design.names, "design": design.state()}
        meta |= {"sources": [source.state() for source in reader.sources]}
        shares = None if shares is None else shares[order]
        return EncodedCorpus(tokens, offsets, attributes[order], columns, meta, shares=shares)

    def _read(self) -> tuple[Reader, Gathered, pa.Table]:
        """(how it was read, the texts, the other columns): texts become tokens as they come, and are let go."""
        extra = [name for name in (self.group, self.split) if name]
        columns = list(dict.fromkeys([*self.chosen, *extra, *self.more]))
        reader, texts = self.reader(columns), Gathered(self.tokeniser)
        parts = []
        for batch in counted(reader, f"reading {self.path}"):
            batch = batch.filter(pc.is_valid(batch[self.split])) if self.split else batch
            texts.add(batch["text"])
            parts.append(batch.select(columns))
        return reader, texts, pa.concat_tables(parts)

    def _values(self, name: str, column: pa.ChunkedArray) -> pa.DictionaryArray:
        """The column as names, ranges of numbers in their order."""
        whole = column.combine_chunks()
        return binned(self.path, name, whole, self.bins[name]) if name in self.bins else named(self.path, name, whole)

    def _design(
        self, table: pa.Table, values: Mapping[str, pa.DictionaryArray]
    ) -> tuple[Design, np.ndarray, np.ndarray | None]:
        """(the design, the attributes of every row, their shares)."""
        columns, codes = [], []
        old = None if self.old is None else self.old.design
        for q, name in enumerate(self.chosen):
            before = None if old is None else old.columns[q]
            if name in self.knots:
                numbers = numbers_of(self.path, name, table[name].combine_chunks(), "data.continuous")
                column = Column.of_numbers(name, numbers, self.knots[name])
                column = column if before is None else before.joined(column)
                code = column.encode(numbers)
            else:
                column, code = coded(name, values[name], before)
            columns.append(column)
            codes.append(code)
        terms = [tuple(self.chosen.index(name) for name in term) for term in self.terms]
        design = Design.of(columns, terms, codes, old)
        return design, *design.encode(codes)

    def _split(self, table: pa.Table, attributes: np.ndarray, group: np.ndarray | None) -> np.ndarray:
        """The part of every row (0 train, 1 val, 2 test): drawn, or as the column says."""
        if self.split is None:
            return random_split(attributes, self.holdout, self.split_seed, group)
        split = given_split(self.path, self.split, table[self.split].combine_chunks())
        ids_nM = attributes.reshape(len(attributes), -1)
        if len(unseen := np.setdiff1d(ids_nM[split > 0], ids_nM[split == 0])):
            raise AtdError(
                f"{self.path}: {len(unseen)} values of {', '.join(self.chosen)} are in no row that column {self.split} "
                "puts in train; leave their rows out, or choose other columns"
            )
        return split

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
