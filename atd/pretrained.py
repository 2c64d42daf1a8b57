"""Pretrained word vectors: GloVe and word2vec text, word2vec binary, and Turian's format, plain or gzip."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

import numpy as np
import torch
from torch import Tensor

from atd.errors import AtdError
from atd.vocabulary import Vocabulary

UNKNOWN = ("*UNKNOWN*", "<unk>", "UNK", "unk")  # Turian, GloVe and word2vec spellings of an unknown word


def read_vectors(path: str | Path, vocabulary: Vocabulary) -> tuple[Tensor, float]:
    """Vectors for every word of the vocabulary (V×K), and the share of running words that had one."""
    vectors_VK, has_V = find_vectors(path, vocabulary)
    return vectors_VK, coverage(has_V, vocabulary)


def coverage(has_V: np.ndarray, vocabulary: Vocabulary) -> float:
    """The share of running words that have a vector."""
    return float(vocabulary.counts[has_V].sum() / max(1, vocabulary.counts.sum()))


def find_vectors(path: str | Path, vocabulary: Vocabulary) -> tuple[Tensor, np.ndarray]:
    """Vectors for every word of the vocabulary (V×K), and which words have one of their own (V).

    A word is looked up as it stands, then in lower case. Words without a vector take the file's unknown-word
    vector, or else the mean of all vectors found: a start amid the others rather than at zero.
    """
    path = Path(path)
    wanted = set(vocabulary.words) | {w.lower() for w in vocabulary.words} | set(UNKNOWN)
    try:
        with _open(path) as file:
            found = dict(_entries(path, file, wanted))
    except FileNotFoundError:
        raise AtdError(f"{path}: no such file; give the path of a GloVe or word2vec file") from None
    except (OSError, EOFError, zlib.error) as error:
        raise AtdError(f"{path}: not readable ({error}); fetch the file anew") from None
    rows = [found.get(w, found.get(w.lower())) for w in vocabulary.words]
    known = [row for row in rows if row is not None]
    if not known:
        raise AtdError(f"{path}: none of the {len(vocabulary)} vocabulary words is in it; is it the right language?")
    default = next((found[u] for u in UNKNOWN if u in found), np.mean(known, axis=0))
    matrix = np.stack([default if row is None else row for row in rows])
    has = np.array([row is not None for row in rows])
    return torch.from_numpy(matrix.astype(np.float32)), has


def _open(path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


def _entries(path: Path, file: IO[bytes], wanted: set[str]) -> Iterator[tuple[str, np.ndarray]]:
    first = file.readline()
    if not first.strip():
        raise AtdError(f"{path}: the file is empty; fetch it anew")
    header = first.split()
    if len(header) == 2 and all(part.isdigit() for part in header):
        start = file.read(4096)
        binary = b"\n" not in start or not _is_text_row(start.split(b"\n")[0], int(header[1]))
        reader = _binary if binary else _text
        return reader(path, _Rest(start, file), wanted, int(header[1]))
    return _text(path, _Rest(first, file), wanted, len(header) - 1)


def _is_text_row(line: bytes, K: int) -> bool:
    try:
        return len([float(part) for part in line.split(b" ")[-K:]]) == K
    except ValueError:
        return False


class _Rest:
    """A file with a few bytes already read pushed back in front."""

    def __init__(self, head: bytes, file: IO[bytes]):
        self.head, self.file = head, file

    def read(self, n: int) -> bytes:
        out, self.head = self.head[:n], self.head[n:]
        return out if len(out) == n else out + self.file.read(n - len(out))

    def lines(self) -> Iterator[bytes]:
        *whole, last = self.head.split(b"\n")
        yield from whole
        yield last + self.file.readline()
        yield from self.file


def _text(path: Path, rest: _Rest, wanted: set[str], K: int) -> Iterator[tuple[str, np.ndarray]]:
    """Rows `word v₁ … v_K`. A word may hold spaces (GloVe 840B has such), so the last K fields count."""
    for number, line in enumerate(rest.lines(), 1):
        line = line.rstrip()
        if not line:
            continue
        word = line.split(b" ", 1)[0].decode("utf-8", "replace")
        if word not in wanted:
            continue
        fields = line.split(b" ")
        try:
            row = np.array(fields[-K:], dtype=np.float32)
        except ValueError:
            row = np.empty(0, dtype=np.float32)
        if len(fields) <= K or len(row) != K:
            raise AtdError(f"{path}:{number}: expected a word and {K} numbers; the file is damaged, fetch it anew")
        if len(fields) == K + 1:
            yield word, row


def _binary(path: Path, rest: _Rest, wanted: set[str], K: int) -> Iterator[tuple[str, np.ndarray]]:
    """word2vec's binary: the word, a space, K little-endian floats, an optional newline; word after word."""
    while True:
        word = bytearray()
        while (byte := rest.read(1)) not in (b" ", b""):
            if byte != b"\n":
                word += byte
        if not byte:
            return
        block = rest.read(4 * K)
        if len(block) < 4 * K:
            raise AtdError(f"{path}: ends in the middle of a vector; fetch the file anew")
        name = word.decode("utf-8", "replace")
        if name in wanted:
            yield name, np.array(struct.unpack(f"<{K}f", block), dtype=np.float32)
