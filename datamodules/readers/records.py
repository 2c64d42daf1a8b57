"""Rows of a JSON file: an object a line, or one list of objects.

A value is what it stands for: 7 and "7" are one name, so a column may have both. An object may lack a column.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from datamodules.readers.columns import Source, check_columns, numbers
from datamodules.readers.files import Place
from datamodules.readers.streams import encoding_of, head_of, open_text, unpacked

ROWS = 1 << 15  # of a batch
NUMBERS = {int, float}


def read_records(place: Place, kind: str, columns: list[str]) -> tuple[Source, Iterator[pa.Table]]:
    """(how it is read, batches of the wanted columns); the first of the columns is the text."""
    source = Source(place, kind, encoding_of(place))
    head, _ = head_of(place, source.encoding, 1000)
    found = objects(source) if head.lstrip("\ufeff \t\r\n").startswith("[") else lines(source)
    return source, batches(place, found, columns)


def lines(source: Source) -> Iterator[tuple[int, Any]]:
    """(line, value) of every line that is not blank."""
    place = source.place
    with unpacked(place), open_text(place, source.encoding) as text:
        for i, line in enumerate(text, 1):
            try:
                yield i, json.loads(line)
            except (ValueError, RecursionError) as error:
                if line.strip():
                    fix = 'a line is one object, such as {"text": …}, or the file one list of them; mend it'
                    raise place.error(f"broken JSON ({reason(error)}); {fix}", i) from None


def objects(source: Source) -> Iterator[tuple[int, Any]]:
    """(number, value) of every member of a list."""
    place = source.place
    with unpacked(place), open_text(place, source.encoding) as text:
        try:
            yield from enumerate(json.load(text), 1)
        except (ValueError, RecursionError) as error:
            line = error.lineno if isinstance(error, json.JSONDecodeError) else None
            raise place.error(f"broken JSON ({reason(error)}); mend it", line) from None


def reason(error: Exception) -> str:
    """What is wrong: not JSON, brackets too deep, or a whole number of thousands of digits."""
    if isinstance(error, RecursionError):
        return "brackets inside brackets, too deep to read"
    return error.msg if isinstance(error, json.JSONDecodeError) else str(error).partition(";")[0]


def batches(place: Place, found: Iterator[tuple[int, Any]], columns: list[str]) -> Iterator[pa.Table]:
    there: dict[str, None] = {}
    for batch in batched(found):
        for i, row in batch:
            if not isinstance(row, dict):
                raise place.error(f"not an object with columns but {type(row).__name__}; see docs/data.md", i)
            there.update(dict.fromkeys(row))
        values = {name: [row.get(name) for _, row in batch] for name in columns}
        yield pa.table({name: column(place, name, v, name == columns[0]) for name, v in values.items()})
    if there:
        check_columns(place, columns, list(there))


def batched(found: Iterator[tuple[int, Any]]) -> Iterator[list[tuple[int, Any]]]:
    while batch := list(itertools.islice(found, ROWS)):
        yield batch


def column(place: Place, name: str, values: list[Any], text: bool) -> pa.Array:
    kinds = set(map(type, values)) - {type(None)}
    if text and kinds and kinds <= NUMBERS:
        raise numbers(place, name)
    if strange := kinds - {str, bool, *NUMBERS}:
        shown = "lists" if list in strange else "objects"
        raise place.error(f"column {name!r} holds {shown}, not one value a row; choose another or flatten it")
    if kinds - {str}:
        values = [None if value is None else as_name(value) for value in values]
    try:
        return pa.array(values, pa.string())
    except UnicodeEncodeError:  # half of a pair of surrogates, which JSON can hold and UTF-8 cannot
        return pa.array([v and v.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for v in values])


def as_name(value: Any) -> str | None:
    """As Arrow writes it: 4.0 is "4", true is "true", NaN is missing."""
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer() and abs(value) < 1e15):
        return json.dumps(value if isinstance(value, bool) else int(value))
    return str(value)
