"""A user's own table: one text per row and columns that describe it.

It is a file, a pattern of files (posts-*.csv) or a folder of them, read one after another; each must have the wanted
columns. csv, tsv, jsonl, json, parquet, arrow and feather, plain or packed (.gz, .zst).
"""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from rich.console import Console

from atd.errors import AtdError
from datamodules.readers.columnar import read_arrow, read_parquet
from datamodules.readers.columns import Source, as_names, as_text, check_words
from datamodules.readers.delimited import read_delimited
from datamodules.readers.files import Place, has_text
from datamodules.readers.records import read_records
from datamodules.readers.streams import PACKED

READERS = {
    "csv": read_delimited,
    "tsv": read_delimited,
    "jsonl": read_records,
    "ndjson": read_records,
    "json": read_records,
    "parquet": read_parquet,
    "arrow": read_arrow,
    "feather": read_arrow,
}
FORMATS = tuple(READERS)


def find_tables(path: str | Path) -> list[Path]:
    """The files of a table, by name."""
    path = Path(path)
    if path.is_file():
        return [path]
    if path.is_dir():
        found = [file for file in sorted(path.iterdir()) if is_table(file) and not shadowed(file)]
        if not found:
            kinds = ", ".join(FORMATS)
            raise AtdError(
                f"{path}: no table in this folder; it must hold files of type {kinds}, or try {path}/*/*.csv"
            )
        return found
    if glob.has_magic(str(path)):
        found = [Path(name) for name in sorted(glob.glob(str(path), recursive=True))]
        found = [file for file in found if file.is_file() and not shadowed(file)]
        if not found:
            raise AtdError(f"{path}: no such table; no file has a name like this")
        return found
    raise AtdError(f"{path}: no such table; set data.path to a file, a folder or a pattern such as posts-*.csv")


def read_table(path: str | Path, text: str, attributes: Sequence[str], drop_empty: bool = False) -> pa.Table:
    """Table(text, *attributes), all strings: an attribute's values are names, so 7 in a file stays "7".

    Missing attribute values stay null. A row without text is an error, or left out with `drop_empty`.
    """
    return pa.concat_tables(TableReader(path, text, attributes, drop_empty))


class TableReader:
    """The same in batches, for a table larger than memory. `sources` says how each file was read so far."""

    def __init__(self, path: str | Path, text: str, attributes: Sequence[str], drop_empty: bool = False):
        self.path = Path(path)
        self.text = text
        self.attributes = list(attributes)
        self.drop_empty = drop_empty
        self.sources: list[Source] = []
        columns = [text, *self.attributes]
        if len({*columns}) < len(columns):
            raise AtdError(f"{path}: the columns {columns} repeat; name the text and each attribute once")

    def __iter__(self) -> Iterator[pa.Table]:
        self.sources = []
        kept = 0
        for path in find_tables(self.path):
            for batch in self._file(Place(path)):
                kept += len(batch)
                yield batch
        rows = sum(source.rows for source in self.sources)
        if not rows:
            raise AtdError(f"{self.path}: the table has no rows")
        if not kept:
            raise AtdError(
                f"{self.path}: {rows} of {rows} rows have no text in {self.text!r}; set data.text to another"
            )

    def _file(self, place: Place) -> Iterator[pa.Table]:
        """The batches of one file; rows without text are counted, and an error at its end."""
        try:
            source, found = open_table(place, [self.text, *self.attributes])
            self.sources.append(source)
            if source.encoding == "cp1252":
                note = "not UTF-8; read as cp1252 (Western European). Convert it if letters look wrong"
                Console(stderr=True).print(f"{place}: {note}", highlight=False, markup=False, soft_wrap=True)
            first, empty, judged = 0, 0, False
            for table in found:
                batch, full = self._batch(place, table)
                if len(missing := np.flatnonzero(~full)):
                    first = first or source.rows + int(missing[0]) + 1
                    empty += len(missing)
                    batch = batch.filter(pa.array(full))
                if not judged and len(batch):
                    check_words(place, self.text, batch["text"])
                    judged = True
                source.rows += len(table)
                if len(batch):
                    yield batch
        except AtdError:
            raise
        except (pa.ArrowException, OSError, ValueError) as error:
            what = " ".join(str(error).split())[:200]
            raise place.error(f"not a readable table ({what}); mend or convert it") from error
        if empty and not self.drop_empty:
            raise place.error(
                f"{empty} of {source.rows} rows have no text in {self.text!r} (first: row {first}); "
                "remove them or set data.drop_empty=true"
            )

    def _batch(self, place: Place, table: pa.Table) -> tuple[pa.Table, np.ndarray]:
        """(the batch as strings, which rows have text)."""
        texts = as_text(place, self.text, table[self.text])
        names = {name: as_names(place, name, table[name]) for name in self.attributes}
        return pa.table({"text": texts} | names), has_text(texts).to_numpy()


def open_table(place: Place, columns: list[str]) -> tuple[Source, Iterator[pa.Table]]:
    """How a file is read, and batches of some columns, by the reader that its name asks for."""
    kind = kind_of(place.path)
    if kind not in READERS:
        raise place.error(f"unknown table type {kind!r}; use one of {', '.join(FORMATS)}, plain, .gz or .zst")
    return READERS[kind](place, kind, columns)


def kind_of(path: Path) -> str:
    name = path.name.lower()
    for packed in PACKED:
        name = name.removesuffix(packed)
    return name.rpartition(".")[2]


def is_table(path: Path) -> bool:
    """Hidden files, and those that other programs leave beside a table, are none."""
    return path.is_file() and kind_of(path) in READERS and not path.name.startswith((".", "_"))


def shadowed(path: Path) -> bool:
    """A packed file beside the same one unpacked."""
    return any(path.name.endswith(end) and path.with_name(path.name.removesuffix(end)).is_file() for end in PACKED)
