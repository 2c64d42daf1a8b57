"""Columns of a Parquet or Arrow file, a batch of rows at a time.

Every batch is validated in full before anything touches it: offsets and lengths of a damaged file may point anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from datamodules.readers.columns import Source, check_columns
from datamodules.readers.files import Place, check_size
from datamodules.readers.streams import open_seekable

ROWS = 1 << 16  # most rows of a batch
BYTES = 1 << 24  # about so many in the wanted columns


def read_parquet(place: Place, kind: str, columns: list[str]) -> tuple[Source, Iterator[pa.Table]]:
    from pyarrow.parquet import ParquetFile

    file = ParquetFile(open_seekable(place))
    check_columns(place, columns, file.schema_arrow.names)
    groups = (file.metadata.row_group(i) for i in range(file.metadata.num_row_groups))
    size = sum(group.total_byte_size for group in groups)  # not column by column: to ask a damaged one ends the process
    rows = min(ROWS, max(1, BYTES * file.metadata.num_rows // max(size, 1)))
    found = file.iter_batches(rows, columns=columns, use_threads=False)
    return Source(place, kind), sound(place, found, columns)


def read_arrow(place: Place, kind: str, columns: list[str]) -> tuple[Source, Iterator[pa.Table]]:
    """The file format, or the stream format that some libraries write under the same name."""
    file = open_seekable(place)
    start = file.read(6)
    file.seek(0)
    if start == b"ARROW1":
        reader = pa.ipc.open_file(file)
        found = (reader.get_batch(i) for i in range(reader.num_record_batches))
    elif start.startswith(b"FEA1"):  # its reader trusts the file, and a damaged one ends the process
        raise place.error("feather of version 1, from before 2020; write it anew with pyarrow or pandas of today")
    else:
        reader = pa.ipc.open_stream(file)
        found = iter(reader)
    check_columns(place, columns, reader.schema.names)
    return Source(place, kind), (part for table in sound(place, found, columns) for part in split(table))


def sound(place: Place, batches: Iterable[pa.RecordBatch], columns: list[str]) -> Iterator[pa.Table]:
    """The columns of batches, if all of them can be touched, and they are no more than the file can hold."""
    size, packed = 0, place.path.stat().st_size
    for batch in batches:
        table = pa.Table.from_batches([batch]).select(columns)
        table.validate(full=True)
        size += sum(column.nbytes for column in table.columns if not pa.types.is_dictionary(column.type))
        check_size(size, packed, place)
        yield table


def split(table: pa.Table) -> list[pa.Table]:
    """A large batch in pieces: some writers put a whole table in one."""
    rows = min(ROWS, max(1, BYTES * len(table) // max(table.nbytes, 1)))
    return [table.slice(i, rows) for i in range(0, len(table), rows)]
