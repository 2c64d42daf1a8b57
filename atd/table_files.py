"""Tables in files: some columns of a csv, tsv, jsonl, parquet, arrow or feather file, or the lines of a text file.

csv, tsv, jsonl and txt need nothing but Python; where pyarrow is installed it reads csv and tsv, ten times faster. The
platform reads more kinds of file, and far larger ones.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
import zlib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO, cast

from atd.errors import AtdError, printable, reason_of

KINDS = ("csv", "tsv", "jsonl", "txt", "parquet", "arrow", "feather")
SIGNS = {"csv": ",", "tsv": "\t"}
DAMAGE = (  # what readers raise when they meet it: csv, gzip, json and pyarrow
    csv.Error,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    TypeError,
    LookupError,
    NotImplementedError,
    RecursionError,
)


def read_columns(path: str | Path, columns: Sequence[str]) -> dict[str, list[Any]]:
    """The named columns, each a list; an empty field is None. Of a text file every line is a text, named as asked."""
    path, columns = Path(path), list(dict.fromkeys(columns))
    if not path.is_file():
        raise AtdError(f"{path}: no such file")
    kind = path.name.removesuffix(".gz").rpartition(".")[2].lower()
    if kind not in KINDS:
        raise AtdError(f"{path}: a table is a file of type {', '.join(KINDS)}; convert it to one of them")
    try:
        found = _read(path, kind, columns)
    except DAMAGE as error:
        raise AtdError(f"{path}: not readable as {kind} ({printable(reason_of(error))}); mend it") from None
    if not found or not next(iter(found.values())):
        raise AtdError(f"{path}: there are no rows")
    return found


def _read(path: Path, kind: str, columns: list[str]) -> dict[str, list[Any]]:
    if kind in ("txt", *SIGNS):
        _check_zeros(path)
    if kind == "txt":
        if len(columns) > 1:
            raise AtdError(f"{path}: a file of lines has no columns but its texts; give a table")
        with _opened(path) as file:
            return {columns[0]: [line.strip() for line in file if line.strip()]}
    if kind == "jsonl":
        return _read_jsonl(path, columns)
    if kind in SIGNS and find_spec("pyarrow") is None:
        return _read_csv(path, columns, SIGNS[kind])
    return _read_arrow(path, kind, columns)


def _check_zeros(path: Path) -> None:
    """No text has many zero bytes, which are the usual sign of UTF-16."""
    with gzip.open(path) if path.name.endswith(".gz") else path.open("rb") as file:
        while block := file.read(1 << 20):
            if block.count(0) * 20 > len(block):
                raise AtdError(f"{path}: holds zero bytes, as UTF-16 does; convert it (iconv -f utf-16 -t utf-8)")


def _opened(path: Path) -> TextIO:
    if path.name.endswith(".gz"):
        return cast(TextIO, gzip.open(path, "rt", encoding="utf-8-sig", newline=""))
    return path.open(encoding="utf-8-sig", newline="")


def _read_csv(path: Path, columns: list[str], sign: str) -> dict[str, list[Any]]:
    csv.field_size_limit(sys.maxsize)  # a text may be a book
    with _opened(path) as file:
        rows = csv.reader(file, delimiter=sign, strict=True)
        header = next(rows, [])
        _check(path, columns, header)
        places = [header.index(name) for name in columns]
        found: dict[str, list[Any]] = {name: [] for name in columns}
        for number, row in enumerate(rows, start=1):
            if not row:
                continue
            if len(row) != len(header):
                raise AtdError(f"{path}: row {number} has {len(row)} fields, the first line {len(header)}")
            for name, place in zip(columns, places, strict=True):
                found[name].append(row[place] or None)
    return found


def _read_jsonl(path: Path, columns: list[str]) -> dict[str, list[Any]]:
    with _opened(path) as file:
        rows = [json.loads(line) for line in file if line.strip()]
    if not all(isinstance(row, dict) for row in rows):
        raise AtdError(f"{path}: every line is to hold an object, such as {{...}}")
    _check(path, columns, list(dict.fromkeys(name for row in rows for name in row)))
    return {name: [row.get(name) for row in rows] for name in columns}


def _read_arrow(path: Path, kind: str, columns: list[str]) -> dict[str, list[Any]]:
    try:
        import pyarrow as pa
    except ImportError:
        raise AtdError(f"{path}: reading {kind} needs pyarrow: pip install pyarrow") from None
    if kind in SIGNS:
        table = _arrow_csv(path, columns, SIGNS[kind])
    elif kind == "parquet":
        import pyarrow.parquet

        _check(path, columns, pyarrow.parquet.read_schema(path).names)
        table = pyarrow.parquet.read_table(path, columns=columns)
    else:
        with pa.memory_map(str(path)) as source:
            start = source.read(6)
            source.seek(0)
            opened = pa.ipc.open_file if start == b"ARROW1" else pa.ipc.open_stream
            table = opened(source).read_all()
        _check(path, columns, table.column_names)
        table = table.select(columns)
    table.validate(full=True)  # before anything touches it: lengths in a damaged file may point anywhere
    return {name: table[name].to_pylist() for name in columns}


def _arrow_csv(path: Path, columns: list[str], sign: str) -> Any:
    import pyarrow as pa
    import pyarrow.csv as arrow

    with _opened(path) as file:
        _check(path, columns, next(csv.reader(file, delimiter=sign), []))
    with pa.input_stream(str(path), compression="detect") as source:
        return arrow.read_csv(
            source,
            read_options=arrow.ReadOptions(use_threads=False),  # then an error names its row
            parse_options=arrow.ParseOptions(delimiter=sign, newlines_in_values=True),
            convert_options=arrow.ConvertOptions(
                include_columns=columns,
                column_types=dict.fromkeys(columns, pa.string()),
                strings_can_be_null=True,
                null_values=[""],
            ),
        )


def _check(path: Path, columns: list[str], there: list[str]) -> None:
    if missing := [name for name in columns if name not in there]:
        raise AtdError(f"{path}: no column {missing[0]!r}; the columns are {printable(', '.join(there))}")
