"""Word vectors as word2vec and GloVe write them: a word and its numbers, as text or binary, plain or gzip.

n words, K word dim.
"""

from __future__ import annotations

import gzip
import io
import re
import warnings
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, cast

import numpy as np

from atd.errors import AtdError

PICKLE = b"\x80"  # how gensim's own files start: they are code
MOST = 100_000  # numbers of a vector
WORD, NUMBER = 10_000, 32  # bytes that a word and a number may have
LINE = WORD + NUMBER * MOST


def write_text(file: IO[bytes], names: Sequence[str], x_nK: np.ndarray) -> None:
    """A line for the sizes, then a line for each name. Nine digits give back the same float32."""
    row = " ".join(["%.9g"] * x_nK.shape[1])
    file.write(b"%d %d\n" % x_nK.shape)
    for name, x_K in zip(names, x_nK.tolist(), strict=True):
        file.write(f"{name} {row % tuple(x_K)}\n".encode())


def write_binary(file: IO[bytes], names: Sequence[str], x_nK: np.ndarray) -> None:
    """A line for the sizes; then each name, a blank, K little-endian floats and a line end."""
    file.write(b"%d %d\n" % x_nK.shape)
    for name, x_K in zip(names, x_nK.astype("<f4"), strict=True):
        file.write(name.encode() + b" " + x_K.tobytes() + b"\n")


def without_blanks(path: Path, names: Sequence[str]) -> list[str]:
    """The names as these formats can hold them: a blank ends a name, so it becomes `_`, and none stands twice."""
    out = [re.sub(r"\s", "_", name) or "_" for name in names]
    first: dict[str, str] = {}
    for name, new in zip(names, out, strict=True):
        if new in first:
            both = f"{first[new]!r} and {name!r}"
            raise AtdError(f"{path}: {both} would be one name here; rename one, or write safetensors, parquet or csv")
        first[new] = name
    changed = [f"{name!r} → {new!r}" for name, new in zip(names, out, strict=True) if name != new]
    if changed:
        warnings.warn(f"{path.name}: {len(changed)} names had blanks, written as _: {changed[0]}", stacklevel=3)
    return out


def read(path: Path, wanted: set[str] | None = None) -> dict[str, np.ndarray]:
    """The vector (K) of every name, or of those that are wanted. The file itself says which format it has."""
    try:
        with _open(path) as file:
            return dict(_entries(path, file, wanted))
    except FileNotFoundError:
        raise AtdError(f"{path}: no such file; give the path of a GloVe or word2vec file") from None
    except (OSError, EOFError, zlib.error) as error:
        raise AtdError(f"{path}: not readable ({error}); fetch the file anew") from None


def _open(path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


def _entries(path: Path, file: IO[bytes], wanted: set[str] | None) -> Iterator[tuple[str, np.ndarray]]:
    first = file.readline(LINE)
    if not first.strip():
        raise AtdError(f"{path}: the file is empty; fetch it anew")
    if first.startswith(PICKLE):
        raise AtdError(f"{path}: holds code, not vectors alone; write it anew with gensim's save_word2vec_format")
    header = first.split()
    if len(header) == 2 and all(part.isdigit() for part in header):
        K = int(header[1][:9])  # more digits than these are too many, too
        _check_size(path, K)
        start = file.read(4096 + NUMBER * K)  # more than a line of text can hold
        binary = b"\n" not in start or not _is_text_row(start.split(b"\n")[0], K)
        reader = _binary if binary else _text
        return reader(path, _Rest(start, file), wanted, K)
    _check_size(path, len(header) - 1)
    return _text(path, _Rest(first, file), wanted, len(header) - 1)


def _check_size(path: Path, K: int) -> None:
    if not 0 < K <= MOST:
        raise AtdError(f"{path}: its first line speaks of vectors of {K} numbers; 1 to {MOST} can be; fetch it anew")


def _is_text_row(line: bytes, K: int) -> bool:
    try:
        return len([float(part) for part in line.split(b" ")[-K:]]) == K
    except ValueError:
        return False


class _Rest:
    """A file with a few bytes already read pushed back in front."""

    def __init__(self, head: bytes, file: IO[bytes]):
        self.head, self.file = io.BytesIO(head), file

    def read(self, n: int) -> bytes:
        out = self.head.read(n)
        return out if len(out) == n else out + self.file.read(n - len(out))

    def lines(self) -> Iterator[bytes]:
        *whole, last = self.head.read().split(b"\n")
        yield from whole
        yield last + self.file.readline(LINE)
        while line := self.file.readline(LINE):  # a longer one, whatever it holds, is no row
            yield line


def _text(path: Path, rest: _Rest, wanted: set[str] | None, K: int) -> Iterator[tuple[str, np.ndarray]]:
    """Rows `word v₁ … v_K`. A word may hold spaces (GloVe 840B has such), so the last K fields count."""
    for number, line in enumerate(rest.lines(), 1):
        line = line.rstrip()
        if not line:
            continue
        word = line.split(b" ", 1)[0].decode("utf-8", "replace")
        if wanted is not None and word not in wanted:
            continue
        fields = line.split(b" ")
        try:
            row = np.array(fields[-K:], dtype=np.float32)
        except ValueError:
            row = np.empty(0, dtype=np.float32)
        if len(fields) <= K or len(row) != K or not np.isfinite(row).all():
            raise AtdError(f"{path}:{number}: expected a word and {K} numbers; the file is damaged, fetch it anew")
        if len(fields) == K + 1:
            yield word, row


def _binary(path: Path, rest: _Rest, wanted: set[str] | None, K: int) -> Iterator[tuple[str, np.ndarray]]:
    """word2vec's binary: the word, a space, K little-endian floats, an optional newline; word after word."""
    while True:
        word = bytearray()
        while (byte := rest.read(1)) not in (b" ", b""):
            if byte != b"\n":
                word += byte
            if len(word) > WORD:
                raise AtdError(f"{path}: no word ends for {WORD} bytes; the file is damaged, fetch it anew")
        if not byte:
            return
        block = rest.read(4 * K)
        if len(block) < 4 * K:
            raise AtdError(f"{path}: ends in the middle of a vector; fetch the file anew")
        name = word.decode("utf-8", "replace")
        if wanted is None or name in wanted:
            x_K = np.frombuffer(block, dtype="<f4").astype(np.float32)
            if not np.isfinite(x_K).all():
                raise AtdError(f"{path}: the vector of {name!r} is not of numbers; the file is damaged, fetch it anew")
            yield name, x_K
