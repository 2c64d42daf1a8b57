"""Ways to damage the bytes of a file, all drawn from a `random.Random`: the same seed gives the same damage."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence
from random import Random

SPECIAL = (
    b"\0",
    b"\0" * 8,
    codecs.BOM_UTF8,
    codecs.BOM_UTF16_LE,
    codecs.BOM_UTF16_BE,
    b"\xff",
    b"\xff" * 8,
    b"\x80",
    b"\xc3",
    b"\xed\xa0\x80",  # half of a surrogate pair
    b"\x1a",
    b"\x1b[31m",
    "\u00a0".encode(),
    "\u0085".encode(),
    "\u2028".encode(),
    "\ufffd".encode(),
    b"\r",
    b"\n",
    b"\r\n",
    b"\n\n",
    b"\t",
    b"\v",
    b" ",
    b'"',
    b'""',
    b"'",
    b"\\",
    b"/",
    b",",
    b";",
    b"(",
    b")",
    b"[",
    b"]",
    b"{",
    b"}",
    b"<",
    b">",
    b"</post>",
    b"<!ENTITY a 'b'>",
    b"&a;",
    b"null",
    b"nan",
    b"-inf",
    b"1e999",
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
    b"PK\x03\x04",
)
HUGE = (b"0", b"-1", b"255", b"65536", b"2147483648", b"9223372036854775808", b"99999999999999999999999", b"9" * 5000)
WORDS = (0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)  # of lengths and offsets

Mutation = Callable[[bytes, Random, Sequence[bytes]], bytes]


def mutated(data: bytes, draw: Random, others: Sequence[bytes] = ()) -> bytes:
    """The bytes after one to four mutations; `others` are files that pieces may come from."""
    for _ in range(draw.choice((1, 1, 1, 2, 2, 3, 4))):
        data = draw.choice(MUTATIONS)(data, draw, others or (data,))
    return data


def flip_bits(data: bytes, draw: Random, others: Sequence[bytes]) -> bytes:
    out = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 8, 64)) if out else 0):
        out[draw.randrange(len(out))] ^= 1 << draw.randrange(8)
    return bytes(out)


def change_bytes(data: bytes, draw: Random, others: Sequence[bytes]) -> bytes:
    out = bytearray(data)
    for _ in range(draw.choice((1, 2, 4, 16)) if out else 0):
        out[draw.randrange(len(out))] = draw.randrange(256)
    return bytes(out)


def truncate(data: bytes, draw: Random, others: Sequence[bytes]) -> bytes:
    return data[: draw.randrange(len(data) + 1)]


def behead(data: bytes, draw: Random, others: Sequence[bytes]) -> bytes:
    return data[draw.randrange(len(data) + 1) :]


def remove(data: bytes, draw: Random, others: Sequence[bytes]) -> bytes:
    start, end = span(data, draw)
    return data[:start] + data[end:]


def duplicate(data: bytes, draw: Random, others: Sequence[bytes]) -> bytes:
    start, end = span(data, draw)
    return data[:end] + data[start:]


def repeat(data: bytes, draw: Random, others: Sequence[bytes]) -> bytes:
    """One short block many times over."""
    start, end = span(data, draw, 40)
    return data[:start] + data[start:end] * draw.choice((2, 10, 100, 1000)) + data[end:]


def insert_special(data: bytes, draw: Random, others: Sequence[bytes]) -> bytes:
    at = draw.choice((0, len(data), draw.randrange(len(data) + 1)))
    return data[:at] + draw.choice(SPECIAL) * draw.choice((1, 1, 1, 2, 100)) + data[at:]


def replace_special(data: bytes, draw: Random, others: Sequence[bytes]) -> bytes:
    """Overwritten in place: what follows stays where it was."""
    at, what = draw.randrange(len(data) + 1), draw.choice(SPECIAL)
    return data[:at] + what + data[at + len(what) :]


def enlarge_number(data: bytes, draw: Random, others: Sequence[bytes]) -> bytes:
    """One number in the text becomes another, mostly a huge one."""
    found = list(re.finditer(rb"-?\d[\d.]*", data[:20_000]))
    if not found:
        return insert_special(data, draw, others)
    match = draw.choice(found)
    return data[: match.start()] + draw.choice(HUGE) + data[match.end() :]


def overwrite_word(data: bytes, draw: Random, others: Sequence[bytes]) -> bytes:
    """Two, four or eight bytes, as lengths and offsets are, become another number."""
    size = draw.choice((2, 4, 8))
    at = draw.randrange(len(data) + 1) // 4 * 4
    word = (draw.choice(WORDS) * draw.choice((1, 1, 1 << 32)) % (1 << 8 * size)).to_bytes(size, "little")
    return data[:at] + word + data[at + size :]


def splice(data: bytes, draw: Random, others: Sequence[bytes]) -> bytes:
    """The beginning of one file and the end of another."""
    other = draw.choice(others)
    return data[: draw.randrange(len(data) + 1)] + other[draw.randrange(len(other) + 1) :]


def overlay(data: bytes, draw: Random, others: Sequence[bytes]) -> bytes:
    """A piece of another file in place of as many bytes."""
    other = draw.choice(others)
    start, end = span(other, draw)
    at = draw.randrange(len(data) + 1)
    return data[:at] + other[start:end] + data[at + end - start :]


def swap_lines(data: bytes, draw: Random, others: Sequence[bytes]) -> bytes:
    lines = data.splitlines(keepends=True)
    draw.shuffle(lines)
    return b"".join(lines)


def change_line_ends(data: bytes, draw: Random, others: Sequence[bytes]) -> bytes:
    return data.replace(b"\n", draw.choice((b"\r", b"\r\n", b"\n\r", b"", "\u2028".encode())))


def recode(data: bytes, draw: Random, others: Sequence[bytes]) -> bytes:
    """The same text in another encoding."""
    encoding = draw.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-7", "utf-8-sig", "cp1252"))
    return data.decode("utf-8", "replace").encode(encoding, "replace")


def zero(data: bytes, draw: Random, others: Sequence[bytes]) -> bytes:
    """A hole, as a crash of the machine leaves it."""
    start, end = span(data, draw)
    return data[:start] + bytes(end - start) + data[end:]


def empty(data: bytes, draw: Random, others: Sequence[bytes]) -> bytes:
    return draw.choice((b"", b"", b"\n", b" ", b"\0", codecs.BOM_UTF8, b"\r", "\u00a0".encode()))


def span(data: bytes, draw: Random, most: int = 0) -> tuple[int, int]:
    """Where a piece begins and ends."""
    start, end = sorted(draw.randrange(len(data) + 1) for _ in range(2))
    return start, min(end, start + most) if most else end


MUTATIONS: tuple[Mutation, ...] = (
    flip_bits,
    flip_bits,
    change_bytes,
    truncate,
    behead,
    remove,
    duplicate,
    repeat,
    insert_special,
    insert_special,
    replace_special,
    enlarge_number,
    overwrite_word,
    overwrite_word,
    splice,
    overlay,
    swap_lines,
    change_line_ends,
    recode,
    zero,
    empty,
)
