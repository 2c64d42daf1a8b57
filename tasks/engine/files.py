"""Folders that one run has to itself, and what a disk may refuse."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from atd.errors import AtdError, reason_of
from atd.files import PART, explained

LOCK = ".lock"
ASKED = {
    LOCK,
    ".hydra",
    "config.yaml",
    "versions.json",
    "corpora.json",
    "run.log",
}  # what a run was asked for, not what it made
MADE = 2  # folders above that of a run which it may have made: outputs/<task>
DISK = ("ENOSPC", "EDQUOT", "EROFS", "EACCES", "EPERM", "EIO", "EFBIG", "ENOTDIR", "ENAMETOOLONG", "ELOOP")


@contextmanager
def own_folder(folder: Path, resumed: bool = False) -> Iterator[Path]:
    """The folder, made and locked as long as this process uses it.

    Two runs that start in the same second have the same name for theirs: the later one adds a number. A run that is
    resumed needs the very folder.
    """
    for n in itertools.count(1):
        own = folder if n == 1 else folder.with_name(f"{folder.name}-{n}")
        lock = FileLock(own / LOCK)
        try:
            with explained(own):
                own.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=0)
        except Timeout:
            if resumed:
                raise AtdError(f"resume={folder}: a run is going on there; wait for it, or stop it first") from None
            continue
        try:
            for part in own.rglob(f"*{PART}"):  # of a run that was killed here
                part.unlink(missing_ok=True)
            yield own
        finally:
            lock.release()
        return


def forget(folder: Path) -> None:
    """Remove the folder of a run that failed before it made anything."""
    if {path.name for path in folder.iterdir()} <= ASKED:
        shutil.rmtree(folder, ignore_errors=True)
        here = Path.cwd()
        with suppress(OSError):  # other runs are there
            for above in list(folder.absolute().parents)[:MADE]:
                if above == here or above in here.parents:
                    break
                above.rmdir()


def of_disk(error: BaseException) -> str | None:
    """One line for what the disk refused; None = something else went wrong."""
    if not isinstance(error, OSError):
        return None
    numbers = {getattr(errno, name) for name in DISK}
    if error.errno not in numbers and not any(os.strerror(number) in str(error) for number in numbers):
        return None  # Arrow says it in the text alone
    place = f"{error.filename}: " if error.filename else ""
    fix = "make room, or set paths.outputs and paths.cache to folders that can be written"
    return f"{place}{error.strerror or reason_of(error)}; {fix}"
