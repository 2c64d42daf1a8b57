"""The bytes of a user's file, plain or packed by gzip or zstd, and the encoding of their text, found out.

UTF-8 is tried on the whole file. Where it fails there are two cases. Few bad bytes among good ones are damage, an
error that names the line. Letters none of which is UTF-8 are cp1252, the usual encoding of Western European files.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, cast

import pyarrow as pa

from atd.errors import AtdError
from datamodules.readers.files import ZEROS, Place, check_size, first_zero

BLOCK = 1 << 22  # bytes
MAGIC = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
PACKED = (".gz", ".zst")
MARKS = {  # the longer ones first: UTF-32 begins as UTF-16 does
    "utf-8-sig": codecs.BOM_UTF8,
    "utf-32": codecs.BOM_UTF32_LE,
    "utf-16": codecs.BOM_UTF16_LE,
    "utf-16 ": codecs.BOM_UTF16_BE,
}
NOT_CP1252 = bytes(set(range(256)) - {0x81, 0x8D, 0x8F, 0x90, 0x9D})
NAMES = {"utf-8": "UTF-8", "utf-8-sig": "UTF-8 with a mark", "utf-16": "UTF-16", "utf-32": "UTF-32"}


def open_bytes(place: Place) -> pa.NativeFile:
    """The unpacked bytes; how they are packed is seen from the first of them, not from the name."""
    with place.guard():
        with open(place.path, "rb") as raw:
            head = raw.read(4)
        for packing, magic in MAGIC.items():
            if head.startswith(magic):
                return pa.CompressedInputStream(pa.OSFile(str(place.path)), packing)
        return pa.OSFile(str(place.path))


def open_seekable(place: Place) -> pa.NativeFile:
    """For formats that are read from the end: the file, not mapped so that it does not stay in memory, or all that a
    packed one holds."""
    with unpacked(place):
        stream = open_bytes(place)
        return pa.BufferReader(b"".join(blocks(place))) if isinstance(stream, pa.CompressedInputStream) else stream


def open_text(place: Place, encoding: str) -> io.TextIOWrapper:
    """The text, its line ends as they are: for `csv` and for one line after another."""
    return io.TextIOWrapper(cast("IO[bytes]", open_bytes(place)), encoding=encoding, newline="")


def head_of(place: Place, encoding: str, size: int) -> tuple[str, bool]:
    """(the first bytes as text, whether they are all there are)."""
    with unpacked(place), open_bytes(place) as stream:
        data = stream.read(size)
        whole = not stream.read(1)
    return data.decode(encoding, "ignore"), whole


@contextmanager
def unpacked(place: Place) -> Iterator[None]:
    """Damage that unpacking meets, in one line."""
    try:
        yield
    except AtdError:
        raise
    except (OSError, pa.ArrowException) as error:
        what = " ".join(str(error).split())
        raise place.error(f"cannot be read or unpacked ({what}); fetch or write it again") from error


def encoding_of(place: Place) -> str:
    """utf-8, utf-8-sig, utf-16, utf-32 or cp1252; an error for what is none of them, or empty."""
    first = next(blocks(place), b"")
    marked, mark = next(((name.strip(), mark) for name, mark in MARKS.items() if first.startswith(mark)), (None, b""))
    if not first.removeprefix(mark).strip():
        raise place.error("the file is empty; fetch it again or remove it")
    found = first_bad(place, marked or "utf-8")
    if found is None:
        return marked or "utf-8"
    line, byte = found
    if byte is None:
        raise place.error(ZEROS, line)
    if marked or mostly_utf8(place):
        name = NAMES[marked or "utf-8"]
        raise place.error(f"byte 0x{byte:02x} is not {name}, as the rest is; mend the line or convert the file", line)
    if any(block.translate(None, NOT_CP1252) for block in blocks(place)):
        fix = "convert the file (iconv -f its-encoding -t utf-8)"
        raise place.error(f"byte 0x{byte:02x} is not UTF-8, and the file is not cp1252 either; {fix}", line)
    return "cp1252"


def blocks(place: Place) -> Iterator[bytes]:
    with unpacked(place), open_bytes(place) as stream:
        size, packed = 0, place.path.stat().st_size
        while block := stream.read(BLOCK):
            size += len(block)
            check_size(size, packed, place)
            yield block


def first_bad(place: Place, encoding: str) -> tuple[int, int | None] | None:
    """(line, byte) of the first thing that is not of the encoding, (line, None) of zeros, which no text has; None if
    there is neither."""
    decoder = codecs.getincrementaldecoder(encoding)()
    lines = 1
    try:
        for block in blocks(place):
            text = decoder.decode(block)
            if (zero := first_zero(text)) >= 0:
                return lines + text.count("\n", 0, zero), None
            lines += text.count("\n")
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode(encoding, "ignore").count("\n")
        return lines + before, error.object[error.start]
    return None


def mostly_utf8(place: Place) -> bool:
    """Whether most of the letters beyond ASCII are UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    good = bad = 0
    for block in blocks(place):
        text = decoder.decode(block)
        wrong = text.count("\ufffd")
        good += len(text) - len(text.encode("ascii", "ignore")) - wrong
        bad += wrong
    return good > bad
