"""Rows of a csv or tsv file: the sign between fields and the encoding are found out; a bad row is named by its line.

Quotes are as usual, and line ends inside them allowed. The sign is the one of `SIGNS` that makes the header hold most
of the wanted columns, and then the one that cuts the first rows into as many fields as the header has.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator
from typing import Any, TextIO

import pyarrow as pa

from atd.errors import AtdError
from datamodules.readers.columns import Source, check_columns
from datamodules.readers.files import Place
from datamodules.readers.streams import encoding_of, head_of, open_bytes, open_text, unpacked

SIGNS = (",", "\t", ";", "|")
HEAD = 1 << 18  # bytes that the sign is judged by
ROWS = 100
BLOCK = 1 << 24  # bytes of a batch; no row may be longer
OPEN = 1000  # lines of one row that look like a quote never closed


def read_delimited(place: Place, kind: str, columns: list[str]) -> tuple[Source, Iterator[pa.Table]]:
    """(how it is read, batches of the wanted columns): every field a string, an empty one null."""
    encoding = encoding_of(place)
    head = head_of(place, encoding, HEAD)
    delimiter = sign_of(*head, columns, "\t" if kind == "tsv" else ",")
    header = next(sample(*head, delimiter), [])
    if not header:
        raise place.error(f"its first row does not end within {HEAD} bytes; it must name the columns", 1)
    names = [name.strip() for name in header]
    check_columns(place, columns, names)
    written = [header[names.index(name)] for name in columns]
    source = Source(place, kind, encoding, delimiter)
    return source, batches(source, written, columns, len(header))


def sign_of(head: str, whole: bool, columns: list[str], usual: str) -> str:
    """The sign between fields."""

    def fit(sign: str) -> tuple[int, bool, float, int, bool]:
        rows = list(itertools.islice(sample(head, whole, sign), ROWS))
        header = [name.strip() for name in rows[0]] if rows else []
        even = sum(len(row) == len(header) for row in rows) / max(len(rows), 1)
        return len({*columns} & {*header}), len(header) > 1, even, len(header), sign == usual

    return max(SIGNS, key=fit)


def rows_of(text: TextIO, delimiter: str) -> Any:
    """The rows by Python's own reader, which also says their lines."""
    csv.field_size_limit(BLOCK)  # of all readers of the process: others may have set it
    return csv.reader(text, delimiter=delimiter)


def sample(head: str, whole: bool, delimiter: str) -> Iterator[list[str]]:
    """The rows at the beginning; the last one is left out if it may be cut."""
    rows = (row for row in rows_of(io.StringIO(head, newline=""), delimiter) if row)
    if whole:
        yield from rows
        return
    for row, _ in itertools.pairwise(rows):
        yield row


def batches(source: Source, written: list[str], columns: list[str], fields: int) -> Iterator[pa.Table]:
    """`written`: the wanted columns as the header has them."""
    import pyarrow.csv as arrow

    place = source.place
    read = arrow.ReadOptions(use_threads=False, block_size=BLOCK, encoding=source.encoding)
    if source.encoding.startswith("utf-8"):
        read.encoding = "utf8"  # read as it is; the mark is skipped
    parse = arrow.ParseOptions(delimiter=source.delimiter, newlines_in_values=True)
    convert = arrow.ConvertOptions(
        include_columns=written,
        column_types=dict.fromkeys(written, pa.string()),
        strings_can_be_null=True,
        null_values=[""],
    )
    with unpacked(place), open_bytes(place) as stream:
        try:
            for batch in arrow.open_csv(stream, read, parse, convert):
                yield pa.Table.from_batches([batch]).rename_columns(columns)
        except pa.ArrowInvalid as error:
            raise explained(source, fields, error) from error


def explained(source: Source, fields: int, error: pa.ArrowInvalid) -> AtdError:
    """The line of the first row that has too few or too many fields."""
    place, end = source.place, 0
    with open_text(place, source.encoding) as text:
        reader = rows_of(text, source.delimiter)
        try:
            for row in reader:
                line, end = end + 1, reader.line_num
                if end - line > OPEN:
                    return place.error("a quote that opens in this row does not close; mend it", line)
                if row and len(row) != fields:
                    many = f"{len(row)} field{'s' * (len(row) != 1)} instead of the {fields} of the header"
                    return place.error(f"{many}; quote fields that hold {source.delimiter!r} or line ends", line)
        except csv.Error:
            problem = f"a field of more than {BLOCK} bytes: a quote that does not close, or a text to be cut"
            return place.error(problem, end + 1)
    return place.error(f"not a readable table ({str(error).splitlines()[0][:200]}); mend or convert it")
