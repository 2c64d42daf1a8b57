"""Files that are written whole or not at all, and folders that one run has to itself."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from atd.errors import AtdError

LOCK = ".lock"


@contextmanager
def own_folder(folder: Path, resumed: bool = False) -> Iterator[Path]:
    """The folder, made and locked as long as this process uses it.

    Two runs that start in the same second have the same name for theirs: the later one adds a number. A run that is
    resumed needs the very folder.
    """
    for n in itertools.count(1):
        own = folder if n == 1 else folder.with_name(f"{folder.name}-{n}")
        own.mkdir(parents=True, exist_ok=True)
        lock = FileLock(own / LOCK)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            if resumed:
                raise AtdError(f"resume={folder}: a run is going on there; wait for it, or stop it first") from None
            continue
        try:
            yield own
        finally:
            lock.release()
        return


def write_atomically(path: Path, text: str) -> None:
    """A reader sees the old file or the new one, never half of one."""
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)
