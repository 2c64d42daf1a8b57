"""Tables of named vectors: Parquet and Arrow, where a vector is a list, and CSV, where it is the columns x0, x1, …

n names, K numbers of a vector.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from atd.errors import AtdError
from atd.files import whole
from atd.named_vectors import Vectors, checked

if TYPE_CHECKING:
    import pyarrow as pa

NAMES = ("name", "word", "token", "text")  # what a column of names is called, in files of others too
NUMBERED = re.compile(r"x(\d+)")  # the columns of a vector's numbers


def as_table(vectors: Vectors) -> pa.Table:
    """name, the columns, and `vector`, a list of K numbers."""
    import pyarrow as pa

    x_nK = np.ascontiguousarray(vectors.x_nK, dtype=np.float32)
    column = pa.FixedSizeListArray.from_arrays(x_nK.reshape(-1), x_nK.shape[1])
    others = {name: pa.array(values) for name, values in vectors.columns.items()}
    return pa.table({"name": pa.array(vectors.names, pa.string()), **others, "vector": column})


def of_table(path: Path, table: pa.Table) -> Vectors:
    """The vectors are the first column of lists, or else the columns x0, x1, …; the names a column of text."""
    import pyarrow as pa

    is_list = (pa.types.is_fixed_size_list, pa.types.is_list, pa.types.is_large_list)
    is_text = (pa.types.is_string, pa.types.is_large_string)
    lists = [one.name for one in table.schema if any(fits(one.type) for fits in is_list)]
    texts = [one.name for one in table.schema if any(fits(one.type) for fits in is_text)]
    if not texts:
        raise _nothing(path)
    name = next((name for name in NAMES if name in texts), texts[0])
    vector = lists[:1] or _numbered(path, table.column_names)
    if lists:
        x_nK = _rectangle(path, table[lists[0]].combine_chunks())
    else:
        x_nK = np.stack([table[column].to_numpy() for column in vector], 1).astype(np.float32)
    others = [column for column in table.column_names if column not in (name, *vector)]
    return checked(path, Vectors(table[name].to_pylist(), x_nK, {one: table[one].to_pylist() for one in others}))


def _rectangle(path: Path, lists: pa.Array) -> np.ndarray:
    """The lists as an array (n×K)."""
    lengths = set(lists.value_lengths().to_pylist())
    if len(lengths) > 1 or None in lengths:
        raise AtdError(f"{path}: its lists are not of one length, or some are missing; write it anew")
    return np.asarray(lists.flatten(), dtype=np.float32).reshape(len(lists), -1)


def write_parquet(path: Path, vectors: Vectors) -> None:
    import pyarrow.parquet

    with whole(path) as part:
        pyarrow.parquet.write_table(as_table(vectors), part)


def read_parquet(path: Path) -> Vectors:
    import pyarrow.parquet

    return of_table(path, _sound(pyarrow.parquet.read_table(path)))


def write_arrow(path: Path, vectors: Vectors) -> None:
    import pyarrow.feather

    with whole(path) as part:
        pyarrow.feather.write_feather(as_table(vectors), str(part), compression="uncompressed")


def read_arrow(path: Path) -> Vectors:
    import pyarrow as pa

    with pa.OSFile(str(path)) as file:  # not by pyarrow.feather: what version 1 of it says of itself is trusted
        return of_table(path, _sound(pa.ipc.open_file(file).read_all()))


def _sound(table: pa.Table) -> pa.Table:
    """The same, if all of it can be touched: offsets and lengths of a damaged file may point anywhere."""
    table.validate(full=True)
    return table


def write_csv(path: Path, vectors: Vectors) -> None:
    with whole(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["name", *vectors.columns, *(f"x{k}" for k in range(vectors.x_nK.shape[1]))])
        for name, others, x_K in vectors.rows():
            out.writerow([name, *others, *(f"{x:.9g}" for x in x_K)])


def read_csv(path: Path) -> Vectors:
    """Values of columns come back as text."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        header, *rows = csv.reader(file)
    vector = _numbered(path, header)
    name = next((name for name in NAMES if name in header), header[0])
    place = {column: i for i, column in enumerate(header)}
    x_nK = np.array([[row[place[column]] for column in vector] for row in rows], dtype=np.float32)
    columns = {column: [row[place[column]] for row in rows] for column in header if column not in (name, *vector)}
    return checked(path, Vectors([row[place[name]] for row in rows], x_nK, columns))


def _numbered(path: Path, columns: Sequence[str]) -> list[str]:
    """x0, x1, … in their order."""
    found = sorted((int(match[1]), name) for name in columns if (match := NUMBERED.fullmatch(name)))
    if not found:
        raise _nothing(path)
    return [name for _, name in found]


def _nothing(path: Path) -> AtdError:
    return AtdError(f"{path}: has no vectors; it needs a column `name`, and columns x0, x1, … or one of lists")
