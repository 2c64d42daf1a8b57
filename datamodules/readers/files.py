"""Raw files as they come: plain or gzip, in a folder or inside a zip or tar, read whole and checked.

Every reader goes through `Place`, so that a missing, empty, damaged or badly encoded file gives the same one
line that names the file, the line and the fix. Archives are read in place; nothing is ever unpacked to a name
that the archive chose.
"""

from __future__ import annotations

import bz2
import codecs
import functools
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Literal, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.progress import track

from atd.errors import AtdError, printable

LIMIT = 2**31 - 1  # bytes of one unpacked file: 32-bit Arrow offsets, and the end of any decompression bomb
ARCHIVES = (".zip", ".tgz", ".tar.gz", ".tar")
ZEROS = "holds zero bytes: UTF-16 without its mark, or no text; convert it (iconv -f utf-16 -t utf-8)"
MANY = 20  # one byte in so many that is zero is no accident
SMALL, RATIO = 2**26, 50  # a packed file may unpack to so many bytes, and to more if it shrank by no more than so
DAMAGE = (  # what the unpackers of Python raise when they meet it
    EOFError,
    RuntimeError,
    ValueError,
    TypeError,
    LookupError,
    OverflowError,
    struct.error,
    zlib.error,
    OSError,
    lzma.LZMAError,
    zipfile.BadZipFile,
    tarfile.TarError,
)


@dataclass(frozen=True)
class Place:
    """A file on disk or, with `member`, a file inside an archive on disk."""

    path: Path
    member: str = ""

    def __str__(self) -> str:
        return f"{self.path}:{self.member}" if self.member else str(self.path)

    @property
    def name(self) -> str:
        """File name without folders and without .gz."""
        return PurePosixPath(self.member or self.path.name).name.removesuffix(".gz")

    def error(self, problem: str, line: int | None = None) -> AtdError:
        where = f"{self} line {line}" if line else str(self)
        return AtdError(f"{printable(where)}: {printable(problem)}")

    def read(self) -> bytes:
        """All bytes, decompressed; refuses empty and damaged files."""
        with self.guard():
            if self.member:
                data = next((data for place, data in members(self.path, self.member)), None)
                if data is None:
                    raise self.error("no such file in the archive; fetch the archive again")
            else:
                with open(self.path, "rb") as raw:
                    data = _read(_unpacked(raw), self)
        return data

    def text(self) -> str:
        """The whole file as UTF-8 with \\n line ends; bad bytes are an error that names their line."""
        return decode(self.read(), self).replace("\r\n", "\n")

    def lines(self) -> pa.StringArray:
        """One Arrow string per \\n-ended line, built without a Python object per line.

        Only \\n (or \\r\\n) ends a line: parallel corpora hold U+0085 and U+2028 inside sentences.
        """
        data = self.read()
        decode(data, self)  # only to find bad bytes: the text itself stays as it is
        data = data.removeprefix(codecs.BOM_UTF8).replace(b"\r\n", b"\n")
        if not data.endswith(b"\n"):
            data += b"\n"
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
        offsets = np.zeros(len(ends) + 1, np.int32)
        offsets[1:] = ends - np.arange(len(ends))  # where line i ends once the i line ends before it are gone
        joined = data.replace(b"\n", b"")
        return pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(joined))

    def fields(self, columns: list[str], header: bool) -> pa.Table:
        """Tab-separated columns, all strings, no quoting; `header` says whether the first line names them."""
        lines = self.lines()
        if header:
            names = lines[0].as_py().split("\t")
            absent = [c for c in columns if c not in names]
            if absent:
                fix = f"the header must name {', '.join(columns)}"
                raise self.error(f"no column {absent[0]!r}; {fix}, and names {', '.join(names)}", 1)
        else:
            names = columns
        if len(lines) == int(header):
            raise self.error("a header but no rows; fetch the file again")
        parts = pc.split_pattern(lines[int(header) :], "\t")
        wrong = np.flatnonzero(pc.list_value_length(parts).to_numpy() != len(names))
        if len(wrong):
            line, found = int(wrong[0]) + 1 + header, len(parts[int(wrong[0])])
            raise self.error(f"{found} fields between tabs instead of {len(names)} ({', '.join(names)})", line)
        return pa.table({c: pc.list_element(parts, names.index(c)) for c in columns})

    @contextmanager
    def guard(self) -> Iterator[None]:
        try:
            yield
        except AtdError:
            raise
        except DAMAGE as e:
            if isinstance(e, OSError) and e.strerror:  # of the system, not of an unpacker
                raise self.error(f"cannot be read ({e.strerror})") from e
            what = str(e) or type(e).__name__
            raise self.error(f"the file is damaged ({what}); delete it and fetch it again") from e


def first_zero(text: bytes | str) -> int:
    """Where the first zero is if there are many, as in UTF-16; −1 if not: a few come in genuine corpora."""
    zero = 0 if isinstance(text, bytes) else "\0"
    return text.index(zero) if text.count(zero) * MANY > len(text) else -1  # type: ignore[arg-type]


def check_text(data: bytes, place: Place) -> None:
    """It is text, not UTF-16 nor anything else that is full of zeros."""
    if (at := first_zero(data)) >= 0:
        raise place.error(ZEROS, data.count(b"\n", 0, at) + 1)


def check_values(column: pa.ChunkedArray, place: Place) -> None:
    """The same of a column of strings."""
    if MANY * (pc.sum(pc.match_substring(column, "\0")).as_py() or 0) > len(column):
        raise place.error(ZEROS)


def check_size(unpacked: int, packed: int, place: Place) -> None:
    """A small file that unpacks to a huge one is a bomb."""
    if unpacked > max(SMALL, RATIO * packed):
        problem = f"unpacks to more than {RATIO} times its size; no text does: if it is genuine, unpack it yourself"
        raise place.error(problem)


def decode(data: bytes, place: Place) -> str:
    """UTF-8 text without its byte-order mark."""
    check_text(data, place)
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as e:
        line = data.count(b"\n", 0, e.start) + 1
        problem = f"byte 0x{data[e.start]:02x} is not UTF-8; convert the file (iconv -t utf-8)"
        raise place.error(problem, line) from e


def find(*candidates: Path | Place) -> Place | None:
    """The first candidate that exists: a path (plain, else with .gz) or a member of an archive."""
    for candidate in candidates:
        if isinstance(candidate, Place):
            if candidate.path.is_file():
                return candidate
        elif candidate.is_file():
            return Place(candidate)
        elif (zipped := candidate.with_name(candidate.name + ".gz")).is_file():
            return Place(zipped)
    return None


def require(what: str, data_dir: Path, *candidates: Path | Place) -> Place:
    """`find`, or the one line that says what was looked for and where."""
    place = find(*candidates)
    if place is None:
        raise missing(what, data_dir, *candidates)
    return place


def missing(what: str, data_dir: Path, *candidates: Path | Place) -> AtdError:
    paths = dict.fromkeys(c.path if isinstance(c, Place) else c for c in candidates)
    looked = ", ".join(str(p.relative_to(data_dir)) for p in paths)
    return AtdError(
        f"{data_dir}: no {what} here (looked for {looked}, plain or .gz); "
        "set paths.data or ATD_DATA to the folder that holds it"
    )


def walk(root: Path, suffix: str) -> Iterator[tuple[Place, bytes]]:
    """Every file named *`suffix` (or *`suffix`.gz) under a folder or in an archive, with its bytes.

    Archives found under the folder are walked too. Order: by name; inside a tar, as stored.
    """
    if root.is_file():
        place = Place(root)
        with place.guard():
            yield from members(root, suffix)
        return
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        if path.name.endswith(ARCHIVES):
            yield from walk(path, suffix)
        elif path.name.removesuffix(".gz").endswith(suffix) and not _shadowed(path):
            place = Place(path)
            yield place, place.read()


def members(archive: Path, suffix: str) -> Iterator[tuple[Place, bytes]]:
    """The regular files of a zip or tar named *`suffix`, with their bytes; links and folders are skipped."""
    for entry in entries(archive):
        if entry.kind == "file" and entry.name.removesuffix(".gz").endswith(suffix):
            place = Place(archive, entry.name)
            with entry.open() as raw:
                yield place, _read(_unpacked(raw), place)


Kind = Literal["file", "folder", "other"]  # other: a link or a device


@dataclass(frozen=True)
class Entry:
    """One thing in an archive. `open` it before the next is asked for."""

    name: str
    kind: Kind
    open: Callable[[], IO[bytes]]


def entries(archive: Path) -> Iterator[Entry]:
    """What a zip holds, by name, or a tar, as stored: a tar is a stream, in one pass over the compressed bytes."""
    if archive.name.endswith(".zip"):
        with zipfile.ZipFile(archive) as zipped:
            for info in sorted(zipped.infolist(), key=lambda i: i.filename):
                plain = info.external_attr >> 28 in (0, 4, 8)  # file types of Unix: unset, folder, file
                yield Entry(info.filename, _kind(plain, info.is_dir()), functools.partial(zipped.open, info))
    else:
        with tarfile.open(archive, "r|*") as tar:
            for member in tar:
                kind = _kind(member.isfile(), member.isdir())
                yield Entry(member.name, kind, functools.partial(_extract, tar, member))


def _kind(plain: bool, folder: bool) -> Kind:
    return "folder" if folder else "file" if plain else "other"


def _extract(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    opened = tar.extractfile(member)
    assert opened is not None  # it is None for folders and devices alone
    return opened


def has_text(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Which rows hold more than white space; a missing one does not."""
    return pc.fill_null(pc.greater(pc.binary_length(pc.utf8_trim_whitespace(column)), 0), False)


def counted(items: Iterable, what: str) -> Iterable:
    """The items, with a running count while they last if there is a screen to show it."""
    screen = Console(stderr=True)
    return track(items, what, total=None, transient=True, console=screen) if screen.is_terminal else items


def _shadowed(path: Path) -> bool:
    return path.name.endswith(".gz") and path.with_name(path.name.removesuffix(".gz")).is_file()


def _unpacked(raw: IO[bytes]) -> IO[bytes]:
    """Look at the first bytes, not at the name: files are renamed more often than recompressed."""
    head = cast(io.BufferedReader, raw).peek(3)[:3]  # which members of archives have too
    packed = bz2.BZ2File(raw) if head == b"BZh" else gzip.GzipFile(fileobj=raw) if head[:2] == b"\x1f\x8b" else raw
    return cast(IO[bytes], packed)


def _read(stream: IO[bytes], place: Place) -> bytes:
    data = bytearray()
    packed = place.path.stat().st_size
    while chunk := stream.read(1 << 20):
        data += chunk
        if len(data) > LIMIT:
            raise place.error(f"more than {LIMIT} bytes when unpacked; split the file")
        check_size(len(data), packed, place)
    if not data.removeprefix(codecs.BOM_UTF8).strip():
        raise place.error("the file is empty; fetch it again or remove it")
    return bytes(data)
