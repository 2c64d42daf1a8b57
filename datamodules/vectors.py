"""Where pretrained word vectors are: `model.vectors=glove` means GloVe 6B of dimension K, found or downloaded."""

from __future__ import annotations

from pathlib import Path

from atd.errors import AtdError
from datamodules.download import fetch
from datamodules.readers.archive import extract

DIMENSIONS = (50, 100, 200, 300)


def find_glove(data_dir: str | Path, K: int) -> Path:
    """`glove.6B.<K>d*.txt`, plain or gzip, in the data folder or its `vectors/`; unpacked from the release's zip, which
    is downloaded (862 MB) when it is not there."""
    if K not in DIMENSIONS:
        dims = ", ".join(map(str, DIMENSIONS))
        raise AtdError(f"model.K={K}: GloVe has vectors of dimension {dims}; choose one, or model.vectors=null")
    data_dir = Path(data_dir)
    if found := _present(data_dir, K):
        return found
    extract(fetch("glove-6b", data_dir), data_dir / "vectors")
    if found := _present(data_dir, K):
        return found
    raise AtdError(f"{data_dir / 'glove.6B.zip'}: no glove.6B.{K}d.txt in it; remove the file and run again")


def _present(data_dir: Path, K: int) -> Path | None:
    names = (f"glove.6B.{K}d*.txt", f"glove.6B.{K}d*.txt.gz")
    found = [p for folder in (data_dir / "vectors", data_dir) for name in names for p in sorted(folder.glob(name))]
    return found[0] if found else None
