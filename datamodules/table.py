"""A user's own table: a text and some attributes in every row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.settings import TEXT, Rule, listed, mapped, number, optional, whole
from datamodules.corpus import Corpus, by_split
from datamodules.encode import count_vocabulary, ids
from datamodules.readers.table import read_table

MISSING = "missing"
COMPOSE = Rule(lambda v: isinstance(v, bool) or v == "residual", "true, false or residual")
COLUMNS = Rule(lambda v: listed(TEXT).fits(v) and len(v) > 0, "a list of columns, such as [age,gender]")


class TableCorpus(Corpus):
    """A row is a document. With `compose` each value of each column of `attributes` has a vector (age=20s, gender=f),
    and those of a text add up; `compose=residual` gives each distinct tuple one more, what it adds to the sum of its
    values; without, only tuples have one (20s/f). Values of a single column are named alone (20s).

    `bins` makes ranges of numeric columns, {age: 4} four of equal counts. `holdout` is the share of rows for
    validation, and as much again for test; `split_seed` draws them, apart from the seed of training. Every attribute
    that occurs at all occurs in train, and a value that is not there is one of its own, `missing`. `text` is the column
    of text; a row without any is an error, or left out with `drop_empty`.
    """

    def __init__(
        self,
        *,
        text: str,
        attributes: Annotated[Sequence[str], COLUMNS],
        compose: Annotated[bool | str, COMPOSE] = True,
        bins: Annotated[Mapping[str, int] | None, optional(mapped(whole(2)))] = None,
        holdout: Annotated[float, number(0, 0.3, open_low=True)] = 0.1,
        split_seed: Annotated[int, whole(0)] = 0,
        drop_empty: bool = False,
        **common: Any,
    ):
        super().__init__(**common)
        self.text = text
        self.chosen = list(attributes)
        self.compose = compose if len(self.chosen) > 1 else False
        self.bins = dict(bins or {})
        self.holdout = holdout
        self.split_seed = split_seed
        self.drop_empty = drop_empty
        if strange := [column for column in self.bins if column not in self.chosen]:
            raise AtdError(f"data.bins.{strange[0]}: not among data.attributes, which are {', '.join(self.chosen)}")

    def inputs(self) -> list[Path]:
        if not self.path.is_file():
            raise AtdError(f"data.path={self.path}: no such table")
        return [self.path]

    def settings(self) -> dict[str, Any]:
        names = ("text", "chosen", "compose", "bins", "holdout", "split_seed", "drop_empty")
        return {name: getattr(self, name) for name in names}

    def build(self) -> EncodedCorpus:
        table = read_table(self.path, self.text, self.chosen, self.drop_empty)
        values = {name: self._values(name, table[name]) for name in self.chosen}
        attributes, names = COMPOSED[self.compose](values)
        split = random_split(attributes, self.holdout, self.split_seed)
        order = by_split(split)
        attributes, split = attributes[order], split[order]
        tokens = self.tokeniser.folded(table["text"].take(pa.array(order)))
        vocabulary = count_vocabulary(tokens, self.min_count, self.max_size, documents=split == 0)
        columns = {"split": split} | {name: column.take(pa.array(order)) for name, column in values.items()}
        meta = {"vocabulary": vocabulary.state(), "attributes": names, "columns": self.chosen}
        return EncodedCorpus(ids(tokens, vocabulary), tokens.offsets, attributes, columns, meta)

    def _values(self, name: str, column: pa.ChunkedArray) -> pa.DictionaryArray:
        """The column as names, ranges of numbers in their order."""
        column = column.combine_chunks()
        if name in self.bins:
            return binned(self.path, name, column, self.bins[name])
        return by_name(pc.fill_null(column, MISSING))


def by_name(column: pa.Array) -> pa.DictionaryArray:
    """The column as names, sorted."""
    encoded = column.dictionary_encode()
    return _sorted(encoded, sorted(encoded.dictionary.to_pylist()))


def binned(path: Path, name: str, column: pa.Array, n: int) -> pa.DictionaryArray:
    """Ranges of nearly equal counts, named by the smallest and largest value that occur in them."""
    try:
        numbers = pc.cast(pc.utf8_trim_whitespace(column), pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid as error:
        raise AtdError(f"{path}: data.bins needs numbers in {name!r} ({str(error).splitlines()[0]})") from None
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


def tuples(values: Mapping[str, pa.DictionaryArray]) -> tuple[np.ndarray, list[str]]:
    """(id of every row's tuple (n,) int32, the names of the distinct tuples)."""
    codes = np.stack([v.indices.to_numpy() for v in values.values()], axis=1)
    distinct, place = np.unique(codes, axis=0, return_inverse=True)
    words = [v.dictionary.to_pylist() for v in values.values()]
    names = ["/".join(w[i] for w, i in zip(words, row)) for row in distinct]
    return place.reshape(-1).astype(np.int32), names


def composed(values: Mapping[str, pa.DictionaryArray]) -> tuple[np.ndarray, list[str]]:
    """(id of every column's value in each row (n, M) int32, the names of all values)."""
    names: list[str] = []
    ids_nM = []
    for column, value in values.items():
        ids_nM.append(value.indices.to_numpy() + len(names))
        names += [f"{column}={word}" for word in value.dictionary.to_pylist()]
    return np.stack(ids_nM, axis=1).astype(np.int32), names


def composed_and_tuples(values: Mapping[str, pa.DictionaryArray]) -> tuple[np.ndarray, list[str]]:
    """The same with the tuple as one more column."""
    ids_nM, names = composed(values)
    tuple_n, tuple_names = tuples(values)
    return np.column_stack([ids_nM, tuple_n + len(names)]).astype(np.int32), names + tuple_names


COMPOSED = {True: composed, False: tuples, "residual": composed_and_tuples}


def random_split(attributes: np.ndarray, share: float, seed: int) -> np.ndarray:
    """The split (0 train, 1 val, 2 test) of each row; the first row of every attribute, in random order, is train's."""
    n = len(attributes)
    order = np.random.default_rng(seed).permutation(n)
    shuffled = attributes[order].reshape(n, -1)
    first = np.zeros(n, dtype=bool)
    for column in shuffled.T:
        first[np.unique(column, return_index=True)[1]] = True
    free = order[~first]
    held = round(share * n)
    if len(free) < 2 * held or not held:
        raise AtdError(
            f"{n} rows of {int(shuffled.max()) + 1} attributes are too few to hold {share:.0%} out twice; "
            "use fewer attributes, data.bins or data.compose=true, which needs every value in train, not every tuple"
        )
    split = np.zeros(n, dtype=np.int8)
    split[free[:held]], split[free[held : 2 * held]] = 1, 2
    return split


def _sorted(column: pa.DictionaryArray, names: list[str]) -> pa.DictionaryArray:
    """The same values, the dictionary in this order."""
    place = pc.index_in(column.dictionary, pa.array(names)).to_numpy().astype(np.int32)
    return pa.DictionaryArray.from_arrays(place[column.indices.to_numpy()], names)
