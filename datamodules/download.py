"""Public corpora from their canonical addresses: resumed, checked, and named only when whole.

A download grows as `<file>.part` and is renamed to `<file>` after its size and SHA-256 are right, so whatever
bears the final name may be used. Where no checksum is known for certain, the first download records its own in
`<file>.sha256` and later ones must agree with it; that guards against change, not against a bad first copy.
"""

from __future__ import annotations

import errno
import hashlib
import http.client
import os
import shutil
import ssl
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from atd.errors import AtdError

FAILURES = 5  # in a row without one new byte
DELAY = 0.5  # seconds before the first retry, doubled at each
TIMEOUT = 60.0  # seconds without an answer
CHUNK = 1 << 18
PASSING = {408, 425, 429, 500, 502, 503, 504}  # answers worth asking again after


@dataclass(frozen=True)
class Source:
    """One file on the web. sha256 and size are None where not known for certain."""

    url: str
    sha256: str | None = None
    size: int | None = None

    @property
    def file(self) -> str:
        return self.url.rpartition("/")[2]


STANFORD = "https://nlp.stanford.edu"
EUROPARL = "https://www.statmt.org/europarl/v7"
SOURCES = {
    "treebank": Source(
        f"{STANFORD}/sentiment/trainDevTestTrees_PTB.zip",
        sha256="5c613a4f673fc74097d523a2c83f38e0cc462984d847b82c7aaf36b01cbbbfcc",
        size=789_539,
    ),
    "europarl-de-en": Source(f"{EUROPARL}/de-en.tgz", size=197_785_698),
    "europarl-fr-en": Source(f"{EUROPARL}/fr-en.tgz"),
    "europarl-cs-en": Source(f"{EUROPARL}/cs-en.tgz", size=62_062_621),
    "europarl-sk-en": Source(f"{EUROPARL}/sk-en.tgz"),
    "gutenberg": Source("https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/gutenberg.zip"),
    "glove-6b": Source(
        f"{STANFORD}/data/glove.6B.zip",
        sha256="617afb2fe6cbd085c235baf7a465b96f4112bd7f7ccb2b2cbd649fed9cbcf2fb",
        size=862_182_613,
    ),
}
OWN_COPY = {  # what the user must bring: (what, where to get it, what to put into the data folder)
    "blogs": (
        "The Blog Authorship Corpus",
        "its authors' page (u.cs.biu.ac.il/~koppel/BlogCorpus.htm) or, as blogtext.csv, Kaggle",
        "blogs.zip or blogs/blogtext.csv",
    ),
    "reuters": (
        "RCV1/RCV2 news",
        "NIST, against a signed agreement (trec.nist.gov/data/reuters/reuters.html)",
        "reuters/<language>/ with the XML files or zips",
    ),
}


class _Passing(Exception):
    """A failure that may not last: try again from where we are."""


class _Misfit(Exception):
    """What we hold is not the file and no resuming could mend it: start over once, then give up."""


BROKEN = (_Passing, TimeoutError, ConnectionError, ssl.SSLError, urllib.error.URLError, http.client.HTTPException)


def fetch(source: str | Source, folder: str | Path) -> Path:
    """The whole, checked file of a source in `folder`, downloaded unless it is there already."""
    if isinstance(source, str):
        source = _lookup(source, Path(folder))
    if not source.url.startswith(("https://", "http://")):
        raise AtdError(f"{source.url}: not an http(s) address")
    path = Path(folder) / source.file
    if path.exists():
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _lock(path):
            if not path.exists():  # another process may have brought it while we waited
                _download(source, path)
    except OSError as e:
        if e.errno in (errno.ENOSPC, errno.EDQUOT):
            raise AtdError(f"{path}: the disk is full; make room and run again, the download will resume") from e
        raise AtdError(f"{path}: cannot be written ({e.strerror or e}); choose another paths.data") from e
    return path


def _lookup(name: str, folder: Path) -> Source:
    if name in OWN_COPY:
        what, where, put = OWN_COPY[name]
        raise AtdError(f"{what} cannot be downloaded freely: get it from {where} and put {put} into {folder}")
    if name not in SOURCES:
        raise AtdError(f"no source called {name!r}; there are {', '.join([*SOURCES, *OWN_COPY])}")
    return SOURCES[name]


def _lock(path: Path):
    """Held by whoever downloads the file; a context manager."""
    lock = FileLock(f"{path}.lock")
    try:
        return lock.acquire(timeout=1)
    except Timeout:
        Console(stderr=True).print(f"{path}: another process is downloading it; waiting")
        return lock.acquire()


def _download(source: Source, path: Path) -> None:
    """Bring the .part to its full size over as many connections as it takes, check it, give it its name."""
    part = path.with_name(path.name + ".part")
    failures, restarted = 0, False
    while True:
        before = _size(part)
        try:
            _transfer(source, part)
            _check(source, part, path)
            break
        except _Misfit as e:
            part.unlink()
            if restarted or not before:
                raise AtdError(f"{source.url}: {e}") from e
            restarted = True
        except BROKEN as e:
            failures = 0 if _size(part) > before else failures + 1
            if failures >= FAILURES:
                reason = str(getattr(e, "reason", None) or e) or type(e).__name__
                raise AtdError(
                    f"{source.url}: no luck after {FAILURES} attempts ({reason}); "
                    f"run again to resume, or bring the file yourself to {path}"
                ) from e
            time.sleep(DELAY * 2 ** max(0, failures - 1))
    _etag(part).unlink(missing_ok=True)
    os.replace(part, path)


def _transfer(source: Source, part: Path) -> None:
    """One connection: ask for what is missing and append it; a server that ignores the range starts us over."""
    have = _size(part)
    headers = {"User-Agent": "atd", "Accept-Encoding": "identity"}
    if have and (known := _resumable(source, part)) is not None:
        headers |= {"Range": f"bytes={have}-"} | known
    try:
        answer = urllib.request.urlopen(urllib.request.Request(source.url, headers=headers), timeout=TIMEOUT)
    except urllib.error.HTTPError as e:
        if e.code == 416:  # nothing after what we have: it is whole, or no beginning of what is there now
            if e.headers.get("Content-Range") == f"bytes */{have}":
                return
            raise _Misfit("the partial file is no beginning of what is there now; run again") from e
        if e.code in PASSING:
            raise _Passing(f"HTTP {e.code}") from e
        raise AtdError(f"{source.url}: HTTP {e.code} {e.reason}; find the file and put it into {part.parent}") from e
    with answer:
        start = have if answer.status == 206 else 0
        if answer.status == 206 and not answer.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
            raise _Misfit("the server answered with another range than asked; bring the file yourself")
        length = answer.headers.get("Content-Length", "")
        total = start + int(length) if length.isdigit() else source.size
        if total is None and not source.sha256 and not answer.chunked:
            raise AtdError(f"{source.url}: neither size nor checksum is known, so a broken file could not be told")
        _need_room(part, (total or 0) - start)
        if not start:
            _etag(part).write_text(answer.headers.get("ETag", ""))
        with open(part, "ab" if start else "wb") as out, _bar(source.file, start, total) as advance:
            while chunk := answer.read(CHUNK):
                out.write(chunk)
                advance(len(chunk))
            out.flush()
            os.fsync(out.fileno())
    if total is not None and _size(part) < total:
        raise _Passing(f"the connection broke at {_size(part)} of {total} bytes")


def _resumable(source: Source, part: Path) -> dict[str, str] | None:
    """Headers that make a resumed file trustworthy: its checksum is known, or the server vouches it is the same."""
    etag = _etag(part).read_text() if _etag(part).exists() else ""
    if etag and not etag.startswith("W/"):
        return {"If-Range": etag}
    return {} if source.sha256 else None


def _check(source: Source, part: Path, path: Path) -> None:
    """Size and SHA-256, as known or as recorded the first time."""
    record = path.with_name(path.name + ".sha256")
    expected = source.sha256 or (record.read_text().split()[0] if record.exists() else None)
    with open(part, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    size = _size(part)
    if size != (source.size or size):
        raise _Misfit(f"wrong content, {size} bytes instead of {source.size}; it was removed, run again")
    if found != (expected or found):
        mend = "run again" if source.sha256 else f"delete {record} if the source is known to have changed"
        raise _Misfit(f"wrong checksum, SHA-256 {found} instead of {expected}; it was removed, {mend}")
    if not expected:
        record.write_text(f"{found}  {path.name}\n")


def _need_room(part: Path, more: int) -> None:
    free = shutil.disk_usage(part.parent).free
    if more > free:
        raise OSError(errno.ENOSPC, f"{more} bytes needed, {free} free")


@contextmanager
def _bar(name: str, start: int, total: int | None):
    """Gives `advance(bytes)`; draws only if someone is looking."""
    screen = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as progress:
        task = progress.add_task(name, total=total, completed=start)
        yield lambda n: progress.advance(task, n)


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _etag(part: Path) -> Path:
    return part.with_name(part.name + ".etag")
