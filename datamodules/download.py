"""Public corpora from their canonical addresses: resumed, checked, and named only when whole.

A download grows as `<file>.part` and is renamed to `<file>` once it is proved right (`datamodules.proof`), so whatever
bears the final name may be used. A server is believed as little as can be: no web page in place of the file, no byte
more than announced, no redirect out of https, and nothing is written through a link.
"""

from __future__ import annotations

import errno
import http.client
import os
import re
import shutil
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from atd.errors import AtdError
from datamodules.proof import Misfit, check, no_link, refuse_link
from datamodules.sources import OWN_COPY, SOURCES, Source

FAILURES = 5  # in a row without one new byte
DELAY = 0.5  # seconds before the first retry, doubled at each
TIMEOUT = 60.0  # seconds without an answer
CHUNK = 1 << 18
LONGEST = 2 << 30  # bytes of a file whose size is not known
STRONG = re.compile(r'"[!#-~]+"')  # an ETag that means the same bytes
PASSING = {408, 425, 429, 500, 502, 503, 504}  # answers worth asking again after


class _Passing(Exception):
    """A failure that may not last: try again from where we are."""


class _Loyal(urllib.request.HTTPRedirectHandler):
    """Follows redirects within http and https, but never from https to http."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        scheme = urllib.parse.urlsplit(newurl).scheme
        if scheme not in ("https", req.type):
            raise AtdError(f"{req.full_url}: redirects to {scheme}:, which is not followed; bring the file yourself")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


OPENER = urllib.request.build_opener(_Loyal)
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
    refuse_link(part)
    refuse_link(_etag(part))
    failures, restarted = 0, False
    while True:
        before = _size(part)
        try:
            _transfer(source, part)
            check(source, part, path)
            break
        except Misfit as e:
            part.unlink(missing_ok=True)
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
    bring = f"bring the file yourself to {part.with_suffix('')}"
    headers = {"User-Agent": "atd", "Accept-Encoding": "identity"}
    if have and (known := _resumable(source, part)) is not None:
        headers |= {"Range": f"bytes={have}-"} | known
    try:
        answer = OPENER.open(urllib.request.Request(source.url, headers=headers), timeout=TIMEOUT)
    except urllib.error.HTTPError as e:
        if e.code == 416:  # nothing after what we have: it is whole, or no beginning of what is there now
            if e.headers.get("Content-Range") == f"bytes */{have}":
                return
            raise Misfit("the partial file is no beginning of what is there now; run again") from e
        if e.code in PASSING:
            raise _Passing(f"HTTP {e.code}") from e
        raise AtdError(f"{source.url}: HTTP {e.code} {e.reason}; find the file and put it into {part.parent}") from e
    with answer:
        start = have if answer.status == 206 else 0
        if answer.status == 206 and not answer.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
            raise Misfit("the server answered with another range than asked; bring the file yourself")
        if answer.headers.get_content_type() in ("text/html", "application/xhtml+xml"):
            raise AtdError(f"{source.url}: a web page came instead of the file; sign in to the network, or {bring}")
        length = answer.headers.get("Content-Length", "")
        total = start + int(length) if length.isdigit() else source.size
        if total is None and not source.published and not answer.chunked:
            raise AtdError(f"{source.url}: neither size nor checksum is known, so a broken file could not be told")
        most = source.size or total or LONGEST
        if total is not None and total > most:
            raise AtdError(f"{source.url}: wrong content, {total} bytes instead of {most}; {bring}")
        _need_room(part, (total or 0) - start)
        if not start:
            with open(_etag(part), "w", opener=no_link) as out:
                out.write(answer.headers.get("ETag", ""))
        with open(part, "ab" if start else "wb", opener=no_link) as out, _bar(source.file, start, total) as advance:
            while chunk := answer.read(CHUNK):
                if out.tell() + len(chunk) > most:
                    raise Misfit(f"more than the {most} bytes it should have; it was removed, run again")
                out.write(chunk)
                advance(len(chunk))
            out.flush()
            os.fsync(out.fileno())
    if total is not None and _size(part) < total:
        raise _Passing(f"the connection broke at {_size(part)} of {total} bytes")


def _resumable(source: Source, part: Path) -> dict[str, str] | None:
    """Headers that make a resumed file trustworthy: its checksum is known, or the server vouches it is the same."""
    etag = _etag(part).read_text(errors="replace") if _etag(part).exists() else ""
    if STRONG.fullmatch(etag):
        return {"If-Range": etag}
    return {} if source.published else None


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
