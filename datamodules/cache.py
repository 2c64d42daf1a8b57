"""An encoded corpus on disk: one Arrow file, opened by memory-mapping, named by what made it.

A row is a document; its tokens are a list, which Arrow stores as the flat int32 array and the offsets a loader wants.
Beside `<name>-<hash>.arrow` lies `<name>-<hash>.json`: the key that was hashed, for a human, and the size and checksum
that are compared on opening. Both are written under another name and renamed, within a file lock: a reader sees the
whole file or none, and of two processes that need the same corpus one builds while the other waits.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import filelock
import numpy as np
import pyarrow as pa

from atd.encoded import EncodedCorpus
from atd.files import explained
from datamodules.record import note

FORMAT = 3  # raise when the meaning of the file, of a tokeniser or of a reader changes: old caches are then left alone
FIX = "make room or set paths.cache to another folder"
BLOCK = 1 << 20
CHECKED_BLOCKS = 256  # files up to 256 MB are checked whole (0.1 s), larger ones in as many evenly spaced blocks


class DamagedCache(Exception):
    """The file is there but is not what was written."""


def write_corpus(corpus: EncodedCorpus, path: Path) -> None:
    """Write the Arrow file; the caller sees to it that nobody reads it half-written."""
    columns: dict[str, pa.Array] = {"tokens": _lists(corpus.offsets, corpus.tokens)}
    if corpus.per_token:
        columns["attributes"] = _lists(corpus.offsets, corpus.attributes)
    elif corpus.attributes.ndim == 2:
        flat = pa.array(np.ascontiguousarray(corpus.attributes, dtype=np.int32).ravel())
        columns["attributes"] = pa.FixedSizeListArray.from_arrays(flat, corpus.attributes.shape[1])
    else:
        columns["attributes"] = pa.array(corpus.attributes, type=pa.int32())
    if corpus.shares is not None:
        flat = pa.array(np.ascontiguousarray(corpus.shares, dtype=np.float32).ravel())
        columns["shares"] = pa.FixedSizeListArray.from_arrays(flat, corpus.shares.shape[1])
    columns |= {f"column:{k}": _plain(v) for k, v in corpus.columns.items()}
    batch = pa.record_batch(columns, metadata={"atd": json.dumps(corpus.meta)})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)


def open_corpus(path: Path) -> EncodedCorpus:
    """Map the file; nothing is read until it is used."""
    try:
        with pa.memory_map(str(path)) as source:
            batch = pa.ipc.open_file(source).get_batch(0)
        arrays = dict(zip(batch.schema.names, batch.columns))
        tokens, attributes, shares = arrays.pop("tokens"), arrays.pop("attributes"), arrays.pop("shares", None)
        return EncodedCorpus(
            tokens=tokens.values.to_numpy(),
            offsets=tokens.offsets.to_numpy(),
            attributes=_attributes(attributes),
            columns={k.removeprefix("column:"): _numpy_if_numeric(v) for k, v in arrays.items()},
            meta=json.loads(batch.schema.metadata[b"atd"]),
            per_token=pa.types.is_large_list(attributes.type),
            shares=None if shares is None else _attributes(shares),
        )
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, KeyError, IndexError, ValueError, AttributeError, TypeError) as error:
        raise DamagedCache(f"{path}: {error}") from error


def open_or_build(
    key: dict[str, Any],
    build: Callable[[], EncodedCorpus],
    folder: str | Path,
    name: str = "corpus",
    rebuild: bool = False,
) -> EncodedCorpus:
    """The corpus that `key` (inputs and settings) describes: from `folder`, or built and kept there."""
    key = {"format": FORMAT, **key}
    text = json.dumps(key, sort_keys=True, default=str)
    path = Path(folder) / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.arrow"
    if rebuild or (corpus := _open_checked(path)) is None:
        corpus = _build(json.loads(text), build, path, rebuild)
    note(name, key, json.loads(path.with_suffix(".json").read_text())["checksum"])
    return corpus


def _build(key: dict[str, Any], build: Callable[[], EncodedCorpus], path: Path, rebuild: bool) -> EncodedCorpus:
    """Under the lock, and only if nobody else did it meanwhile."""
    with explained(path, FIX):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(path.with_suffix(".lock")).acquire()
    with lock:
        if not rebuild and (corpus := _open_checked(path, warn=True)):
            return corpus
        corpus = build()
        with explained(path, FIX):
            _write(corpus, path, key)
    return open_corpus(path)


def fingerprint(paths: Iterable[str | Path]) -> list[list]:
    """What identifies input files in a cache key: name, size and time of change, without reading them."""
    stats = [(Path(p).resolve(), os.stat(p)) for p in paths]
    return sorted([str(p), s.st_size, s.st_mtime_ns] for p, s in stats)


def _open_checked(path: Path, warn: bool = False) -> EncodedCorpus | None:
    """None when there is no such cache, or a damaged one: half of a pair that is being renamed looks damaged too, so
    only the look under the lock warns."""
    try:
        facts = json.loads(path.with_suffix(".json").read_text())
        if facts["size"] != path.stat().st_size or facts["checksum"] != checksum(path):
            raise DamagedCache(f"{path}: size or checksum differ from what was written")
        return open_corpus(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (DamagedCache, ValueError, KeyError) as error:
        if warn:
            warnings.warn(f"the cached corpus is damaged and will be built anew ({error})", stacklevel=3)
        return None


def _write(corpus: EncodedCorpus, path: Path, key: dict[str, Any]) -> None:
    part, facts_path = path.with_suffix(".part"), path.with_suffix(".json")
    facts_part = path.with_suffix(".json.part")
    try:
        write_corpus(corpus, part)
        facts = {"size": part.stat().st_size, "checksum": checksum(part), "key": key}
        facts_part.write_text(json.dumps(facts, indent=1))
        os.replace(facts_part, facts_path)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
        facts_part.unlink(missing_ok=True)


def checksum(path: Path) -> int:
    """CRC-32 of the file's blocks, read apart from the mapping so that the pages do not stay in memory."""
    size, crc = path.stat().st_size, 0
    stride = max(BLOCK, -(-size // CHECKED_BLOCKS))
    with open(path, "rb", buffering=0) as file:
        for start in range(0, size, stride):
            file.seek(start)
            crc = zlib.crc32(file.read(BLOCK), crc)
    return crc


def _lists(offsets: np.ndarray, values: np.ndarray) -> pa.LargeListArray:
    return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), pa.array(values, pa.int32()))


def _plain(values: Any) -> pa.Array:
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    return values if isinstance(values, pa.Array) else pa.array(values)


def _numpy_if_numeric(values: pa.Array) -> Any:
    numeric = pa.types.is_primitive(values.type) and not values.null_count
    return values.to_numpy(zero_copy_only=False) if numeric else values


def _attributes(values: pa.Array) -> np.ndarray:
    if pa.types.is_fixed_size_list(values.type):
        return values.values.to_numpy().reshape(-1, values.type.list_size)
    return values.values.to_numpy() if pa.types.is_large_list(values.type) else values.to_numpy()
