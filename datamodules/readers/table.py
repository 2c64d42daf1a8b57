"""A user's own table: one text per row and columns that describe it (csv, tsv, jsonl, parquet, arrow)."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from atd.errors import AtdError
from datamodules.readers.files import Place, has_text

FORMATS = ("csv", "tsv", "jsonl", "json", "parquet", "arrow", "feather")


def read_table(path: str | Path, text: str, attributes: Sequence[str], drop_empty: bool = False) -> pa.Table:
    """Table(text, *attributes), all strings: an attribute's values are names, so 7 in a file stays "7".

    Missing attribute values stay null. A row without text is an error, or left out with `drop_empty`.
    """
    path, attributes = Path(path), list(attributes)
    if len({text, *attributes}) < len(attributes) + 1:
        raise AtdError(f"{path}: the columns {[text, *attributes]} repeat; name the text and each attribute once")
    if not path.is_file():
        raise AtdError(f"{path}: no such table; set data.path to a file of type {', '.join(FORMATS)}")
    try:
        table = _load(path, [text, *attributes])
    except (pa.ArrowException, pa.ArrowInvalid) as e:
        raise Place(path).error(f"not a readable table ({str(e).splitlines()[0]}); mend or convert it") from e
    if not len(table):
        raise AtdError(f"{path}: the table has no rows")
    for name in attributes:
        if pa.types.is_nested(table[name].type):
            raise AtdError(f"{path}: column {name!r} holds {table[name].type}, not one value a row")
    texts = table[text]
    if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
        raise AtdError(f"{path}: column {text!r} holds {texts.type}, not text; set data.text to the text column")
    full = has_text(texts)
    empty = np.flatnonzero(~full.to_numpy(zero_copy_only=False))
    if len(empty) == len(table) or (len(empty) and not drop_empty):
        raise AtdError(
            f"{path}: {len(empty)} of {len(table)} rows have no text in {text!r} (first: row {empty[0] + 1}); "
            "remove them or set data.drop_empty=true"
        )
    columns = {"text": texts} | {name: pc.cast(table[name], pa.string()) for name in attributes}
    return pa.table(columns).filter(full) if len(empty) else pa.table(columns)


def _load(path: Path, columns: list[str]) -> pa.Table:
    """The named columns, by the reader that the file's name asks for."""
    kind = path.name.removesuffix(".gz").rpartition(".")[2].lower()
    if kind in ("csv", "tsv"):
        table = _load_csv(path, columns, "\t" if kind == "tsv" else ",")
    elif kind in ("jsonl", "json"):
        import pyarrow.json

        table = pyarrow.json.read_json(pa.BufferReader(Place(path).read()))
    elif kind == "parquet":
        import pyarrow.parquet

        _check(path, columns, pyarrow.parquet.read_schema(path).names)
        table = pyarrow.parquet.read_table(path, columns=columns)
    elif kind in ("arrow", "feather"):
        table = _load_arrow(path)
    else:
        raise AtdError(f"{path}: unknown table type {kind!r}; use one of {', '.join(FORMATS)}")
    _check(path, columns, table.column_names)
    table = table.select(columns)
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):  # categories of pandas and parquet
            table = table.set_column(i, field.name, pc.cast(table.column(i), field.type.value_type))
    return table


def _load_csv(path: Path, columns: list[str], delimiter: str) -> pa.Table:
    """Quotes as usual, line ends inside quotes allowed; every wanted column a string, an empty field null."""
    import csv

    import pyarrow.csv as arrow

    text = Place(path).text()
    _check(path, columns, next(csv.reader(io.StringIO(text), delimiter=delimiter)))
    return arrow.read_csv(
        pa.BufferReader(text.encode()),
        read_options=arrow.ReadOptions(use_threads=False),  # then an error names its row
        parse_options=arrow.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=arrow.ConvertOptions(
            include_columns=columns,
            column_types=dict.fromkeys(columns, pa.string()),
            strings_can_be_null=True,
            null_values=[""],
        ),
    )


def _load_arrow(path: Path) -> pa.Table:
    """The file format, or the stream format that some libraries write under the same name."""
    with pa.memory_map(str(path)) as source:
        if source.read(6) == b"ARROW1":
            return pa.ipc.open_file(source).read_all()
        source.seek(0)
        return pa.ipc.open_stream(source).read_all()


def _check(path: Path, columns: list[str], there: list[str]) -> None:
    for name in columns:
        if name not in there:
            raise AtdError(f"{path}: no column {name!r}; the columns are {', '.join(there)}")
        if there.count(name) > 1:
            raise AtdError(f"{path}: {there.count(name)} columns are called {name!r}; rename all but one")
