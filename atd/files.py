"""Files that are written whole or not at all.

A part is written beside the file and takes its place once all of it is on the disk. So a kill leaves the old file or
the new one, and a full disk the old one, with one line that says so.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from atd.errors import AtdError, reason_of

PART = ".part"


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
    """The name of the part; it replaces `path` when all went well, and is gone when it did not."""
    part = path.with_name(path.name + PART)
    try:
        with explained(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield part
            to_disk(part)
            part.replace(path)
            to_disk(path.parent)
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


@contextlib.contextmanager
def explained(path: Path, fix: str = "make room there or choose another folder") -> Iterator[None]:
    """What the disk refuses, in one line."""
    try:
        yield
    except OSError as error:
        raise AtdError(f"{path}: cannot be written ({error.strerror or reason_of(error)}); {fix}") from error


def write_whole(path: Path, text: str) -> None:
    """A reader sees the old text or the new one, never half of one."""
    with whole(path) as part:
        part.write_text(text, encoding="utf-8")


def to_disk(path: Path) -> None:
    """Return when the file, or the names in the folder, would survive the loss of power."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
