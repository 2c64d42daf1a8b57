"""Whether what came is the file that was asked for: its size, its checksum and, without a checksum, what is in it.

The first download of a file without a published SHA-256 records its own beside it, and later ones must agree. Where no
checksum was published at all that is *trust on first use*: it guards against change, not against a bad first copy. So
such a file must be an archive of its kind, whole, with the members it should have, and the user is told.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tarfile
import zipfile
import zlib
from pathlib import Path

from rich.console import Console

from atd.errors import AtdError
from datamodules.sources import Source

MAGIC = {".zip": b"PK\x03\x04", ".tgz": b"\x1f\x8b", ".gz": b"\x1f\x8b"}
WEB_PAGE = re.compile(rb"\s*(<!--.*?-->\s*)*<(!doctype\s+html|html|head|body|script|meta)\b", re.I | re.S)
HEAD = 4096  # bytes that are looked at to tell a web page
BROKEN_ARCHIVE = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError, ValueError, RuntimeError)


class Misfit(Exception):
    """What we hold is not the file and no resuming could mend it: start over once, then give up."""


def check(source: Source, part: Path, path: Path) -> None:
    """Raise Misfit unless the downloaded `part` is what the source should be; `path` is the name it will get."""
    size = part.stat().st_size
    if not size:
        raise Misfit("an empty file came; it was removed, run again")
    with open(part, "rb") as file:
        head = file.read(HEAD)
    if WEB_PAGE.match(head):
        raise Misfit(f"a web page came instead of the file; sign in to the network, or bring {path} yourself")
    if size != (source.size or size):
        raise Misfit(f"wrong content, {size} bytes instead of {source.size}; it was removed, run again")
    if size < source.least:
        raise Misfit(f"wrong content, {size} bytes instead of {source.least} at least; it was removed, run again")
    if not head.startswith(MAGIC.get(Path(source.file).suffix, b"")):
        raise Misfit(f"what came is no {Path(source.file).suffix} archive; it was removed, run again")
    _compare(source.published, part, "run again")
    if source.published is None:
        _check_members(source, part)
    if source.sha256 is None:
        _compare_or_record(source, part, path)


def digest(path: Path, algorithm: str = "sha256") -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def _compare(published: str | None, part: Path, mend: str) -> None:
    if published is None:
        return
    algorithm, _, expected = published.partition(":")
    found = digest(part, algorithm)
    if found != expected:
        name = {"sha256": "SHA-256", "sha1": "SHA-1", "md5": "MD5"}[algorithm]
        raise Misfit(f"wrong checksum, {name} {found} instead of {expected}; it was removed, {mend}")


def _check_members(source: Source, part: Path) -> None:
    """An archive that opens, is whole to its end and holds what it should. Nothing is unpacked."""
    suffix = Path(source.file).suffix
    if suffix not in (".zip", ".tgz"):
        return
    try:
        names = _names_in_zip(part) if suffix == ".zip" else _names_in_tar(part)
    except BROKEN_ARCHIVE as e:
        raise Misfit(f"what came is a broken archive ({e}); it was removed, run again") from e
    if missing := [name for name in source.members if name not in names]:
        raise Misfit(f"what came is another archive: {missing[0]} is not in it; it was removed, run again")


def _names_in_zip(part: Path) -> set[str]:
    with zipfile.ZipFile(part) as archive:
        if broken := archive.testzip():
            raise zipfile.BadZipFile(f"bad CRC in {broken}")
        return set(archive.namelist())


def _names_in_tar(part: Path) -> set[str]:
    with tarfile.open(part, "r|gz") as archive:
        return {member.name.removeprefix("./") for member in archive}


def _compare_or_record(source: Source, part: Path, path: Path) -> None:
    """Hold the file to the SHA-256 that its first download recorded, or record it now."""
    record = path.with_name(path.name + ".sha256")
    refuse_link(record)
    if record.exists():
        known = re.search(r"^[0-9a-f]{64}\b", record.read_text(encoding="utf-8", errors="replace"), re.M)
        if not known:
            raise AtdError(f"{record}: holds no SHA-256; delete it and run again")
        _compare(f"sha256:{known[0]}", part, f"delete {record} if the source is known to have changed")
        return
    found = digest(part)
    line = f"{found}  {path.name}\n"
    if source.published is None:
        line = "# not verified: no checksum is published for this file, so its first download was trusted\n" + line
        Console(stderr=True, soft_wrap=True).print(
            f"{path}: not verified, because no checksum is published for it; SHA-256 {found} was recorded in {record}",
            markup=False,
            highlight=False,
        )
    with open(record, "w", opener=no_link) as file:
        file.write(line)


def refuse_link(path: Path) -> None:
    """Raise in one line where writing to `path` would reach another file, or no file at all."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        raise AtdError(f"{path}: a link or no plain file, so nothing is written there; remove it and run again")


def no_link(path: str | Path, flags: int) -> int:
    """An `opener` that never follows a link, should one be put there after `refuse_link` looked."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o644)
