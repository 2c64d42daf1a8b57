"""Unpack a zip or tar that nobody vouches for: plain files only, inside one folder, up to a size."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO

from atd.errors import AtdError
from datamodules.readers.files import Entry, Place, check_size, entries

LIMIT = 20 * 2**30  # bytes, all members together
MEMBERS = 10_000


def extract(archive: str | Path, folder: str | Path, limit: int = LIMIT) -> list[Path]:
    """Unpack into `folder` and list the files, by name. Any doubtful member refuses the archive, and nothing is left.

    Members are written by us under checked names: modes, owners and links of the archive have no effect.
    """
    archive, folder = Path(archive), Path(folder)
    place = Place(archive)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".unpack-") as name, place.guard():
        room = limit
        names: set[Path] = set()
        packed = archive.stat().st_size
        for entry in _files(archive, place):
            if len(names) == MEMBERS:
                raise place.error(f"more than {MEMBERS} files; if it is genuine, unpack it yourself")
            path = Path(name) / _checked(entry.name, place)
            path.parent.mkdir(parents=True, exist_ok=True)
            with entry.open() as source, open(path, "wb") as out:
                while chunk := source.read(1 << 20):
                    room -= len(chunk)
                    if room < 0:
                        raise place.error(
                            f"more than {limit} bytes when unpacked; if it is genuine, unpack it yourself"
                        )
                    check_size(limit - room, packed, place)
                    _write(out, chunk, folder)
            names.add(path.relative_to(name))
        for relative in sorted(names):
            (folder / relative).parent.mkdir(parents=True, exist_ok=True)
            os.replace(Path(name) / relative, folder / relative)
    return [folder / relative for relative in sorted(names)]


def _files(archive: Path, place: Place) -> Iterator[Entry]:
    """Every file of an archive; folders are passed by, links and devices refused."""
    for entry in entries(archive):
        if entry.kind == "file":
            yield entry
        elif entry.kind == "other":
            raise place.error(f"member {entry.name!r} is a link or a device; do not use this archive")


def _write(out: IO[bytes], chunk: bytes, folder: Path) -> None:
    try:
        out.write(chunk)
    except OSError as e:
        raise AtdError(f"{folder}: cannot be written ({e.strerror}); make room and run again") from e


def _checked(member: str, place: Place) -> PurePosixPath:
    path = PurePosixPath(member)
    if path.is_absolute() or ".." in path.parts or "\\" in member or PureWindowsPath(member).drive or not path.parts:
        raise place.error(f"member {member!r} would land outside the folder; do not use this archive")
    return path
