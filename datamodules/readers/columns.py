"""Columns of a user's table, whatever the file: found by name, and turned into text and names."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from atd.errors import AtdError
from datamodules.readers.files import Place

Column: TypeAlias = pa.Array | pa.ChunkedArray
SHOWN = 30  # columns that an error lists
WIDTH = 40  # letters of a name there


@dataclass
class Source:
    """A file of the table, and how it was read."""

    place: Place
    kind: str  # csv, jsonl, parquet, …
    encoding: str = ""
    delimiter: str = ""
    rows: int = 0

    def state(self) -> dict[str, str | int]:
        """As plain values, for the cache."""
        facts = {"kind": self.kind, "encoding": self.encoding, "delimiter": self.delimiter}
        return {"file": str(self.place), **facts, "rows": self.rows}


def check_columns(place: Place, wanted: list[str], there: list[str]) -> None:
    """Every wanted column is there, and once."""
    for name in wanted:
        if name not in there:
            raise place.error(f"no column {name!r}; the columns are {listed(nearest(name, there))}")
        if there.count(name) > 1:
            raise place.error(f"{there.count(name)} columns are called {name!r}; rename all but one")


def nearest(name: str, there: list[str]) -> list[str]:
    """All names, those of a near spelling first."""
    lower = {other.lower(): other for other in reversed(there)}
    near = [lower[match] for match in difflib.get_close_matches(name.lower(), lower, n=3)]
    return list(dict.fromkeys([*near, *there]))


def listed(names: list[str]) -> str:
    """On one line: long names cut, and not too many."""
    short = [" ".join(name.split()) for name in names[:SHOWN]]
    short = [name if len(name) <= WIDTH else name[:WIDTH] + "…" for name in short]
    return ", ".join(short) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def as_names(place: Place, name: str, column: Column) -> Column:
    """The values as strings: 7 is "7". A number that is not one (NaN) is missing."""
    column = plain(column)
    if pa.types.is_nested(column.type) or pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        raise place.error(f"column {name!r} holds {column.type}, not one value a row; choose another")
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    try:
        return pc.cast(column, pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        raise place.error(f"column {name!r} holds {column.type}, which has no names; choose another") from None


def as_text(place: Place, name: str, column: Column) -> Column:
    """The column of text, as strings."""
    column = plain(column)
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        raise numbers(place, name)
    text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    if not any(check(column.type) for check in text):
        raise place.error(f"column {name!r} holds {column.type}, not text; set data.text to the column of text")
    return pc.cast(column, pa.string())


def check_words(place: Place, name: str, texts: Column) -> None:
    """The first texts are not all numbers, as they are where a file has no types."""
    some = texts.drop_null()[:1000]
    if len(some) and pc.all(pc.match_substring_regex(some, r"^\s*[-+]?\d[\d.,eE+-]*\s*$")).as_py():
        raise numbers(place, name)


def numbers(place: Place, name: str) -> AtdError:
    return place.error(f"column {name!r} holds numbers, not text; set data.text to the column of text")


def plain(column: Column) -> Column:
    """Categories of pandas and Parquet as what they stand for."""
    return pc.cast(column, column.type.value_type) if pa.types.is_dictionary(column.type) else column
