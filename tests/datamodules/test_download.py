"""Downloads from a server that drops, lies, ignores and refuses: whole and right, or one line and no file."""

from __future__ import annotations

import errno
import hashlib
import random
import shutil
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atd.errors import AtdError
from datamodules import download
from datamodules.download import Source, fetch
from tests.datamodules.serving import serving

CONTENT = random.Random(0).randbytes(1_000_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Does as the server's attributes say; `statuses` and `drops` are used up, one per request."""

    def do_GET(self):
        server = self.server
        server.log.append((self.headers.get("Range"), self.headers.get("If-Range")))
        if server.statuses and (status := server.statuses.pop(0)) != 200:
            return self.send_error(status)
        body = server.content
        start = 0
        total = len(body)
        wanted = self.headers.get("Range")
        if wanted and server.ranges and self.headers.get("If-Range", server.etag) == server.etag:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= total:
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{total}")
                self.send_header("Content-Length", "0")
                return self.end_headers()
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start + server.shift}-{total - 1}/{total}")
            body = body[start:]
        else:
            self.send_response(200)
        if server.etag:
            self.send_header("ETag", server.etag)
        if server.length:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        drop = server.drops.pop(0) if server.drops else None
        self.wfile.write(body[:drop])

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(download, "DELAY", 0.001)
    with serving(Handler) as server:
        reset(server)
        server.url = f"{server.at}corpus.bin"
        yield server


def reset(server):
    server.content = CONTENT
    server.etag = '"v1"'
    server.ranges = True
    server.length = True
    server.shift = 0
    server.drops = []
    server.statuses = []
    server.log = []


def left(folder):
    """Files beside the lock."""
    return sorted(p.name for p in folder.iterdir() if not p.name.endswith(".lock"))


def one_line(caught) -> str:
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_plain_download_is_kept_and_not_asked_for_again(tmp_path, server):
    source = Source(server.url, SHA256, len(CONTENT))
    path = fetch(source, tmp_path / "new" / "folder")
    assert path.read_bytes() == CONTENT
    assert fetch(source, tmp_path / "new" / "folder") == path
    assert len(server.log) == 1
    assert left(path.parent) == ["corpus.bin"]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    drops=st.lists(st.integers(1, 400_000), max_size=3),
    statuses=st.lists(st.sampled_from([200, 500, 503, 429]), max_size=2),
    ranges=st.booleans(),
    etag=st.sampled_from(["", '"v1"', 'W/"v1"']),
    known=st.booleans(),
)
def test_any_mixture_of_passing_trouble_ends_well(tmp_path_factory, server, drops, statuses, ranges, etag, known):
    reset(server)
    server.drops = list(drops)
    server.statuses = list(statuses)
    server.ranges = ranges
    server.etag = etag
    folder = tmp_path_factory.mktemp("data")
    path = fetch(Source(server.url, SHA256 if known else None), folder)
    assert path.read_bytes() == CONTENT
    assert left(folder) == ["corpus.bin"] + ["corpus.bin.sha256"] * (not known)


def test_a_broken_connection_is_resumed_where_it_broke(tmp_path, server):
    server.drops = [300_000, 200_000]
    fetch(Source(server.url, SHA256), tmp_path)
    assert [wanted for wanted, _ in server.log] == [None, "bytes=300000-", "bytes=500000-"]
    assert [vouched for _, vouched in server.log] == [None, '"v1"', '"v1"']


def test_a_later_run_resumes_the_part_of_an_earlier_one(tmp_path, server):
    (tmp_path / "corpus.bin.part").write_bytes(CONTENT[:400_000])
    assert fetch(Source(server.url, SHA256), tmp_path).read_bytes() == CONTENT
    assert server.log == [("bytes=400000-", None)]


def test_without_checksum_or_etag_nothing_is_resumed(tmp_path, server):
    (tmp_path / "corpus.bin.part").write_bytes(b"who knows what")
    assert fetch(Source(server.url), tmp_path).read_bytes() == CONTENT
    assert server.log == [(None, None)]


def test_a_file_that_changed_between_two_pieces_is_started_over(tmp_path, server):
    (tmp_path / "corpus.bin.part").write_bytes(b"old" * 1000)
    (tmp_path / "corpus.bin.part.etag").write_text('"v0"')
    assert fetch(Source(server.url), tmp_path).read_bytes() == CONTENT
    assert server.log == [("bytes=3000-", '"v0"')]


def test_a_whole_part_needs_no_bytes(tmp_path, server):
    (tmp_path / "corpus.bin.part").write_bytes(CONTENT)
    assert fetch(Source(server.url, SHA256), tmp_path).read_bytes() == CONTENT
    assert server.log == [(f"bytes={len(CONTENT)}-", None)]


def test_a_part_longer_than_the_file_is_started_over(tmp_path, server):
    (tmp_path / "corpus.bin.part").write_bytes(CONTENT + b"more")
    assert fetch(Source(server.url, SHA256), tmp_path).read_bytes() == CONTENT
    assert len(server.log) == 2


def test_a_wrong_part_is_started_over_once(tmp_path, server):
    (tmp_path / "corpus.bin.part").write_bytes(b"wrong" * 1000)
    assert fetch(Source(server.url, SHA256), tmp_path).read_bytes() == CONTENT
    server.shift = 7
    (tmp_path / "corpus.bin").rename(tmp_path / "corpus.bin.part")
    (tmp_path / "corpus.bin.part").write_bytes(CONTENT[:1000])
    assert fetch(Source(server.url, SHA256), tmp_path).read_bytes() == CONTENT


def test_wrong_bytes_never_get_the_name(tmp_path, server):
    server.content = CONTENT[:-1] + b"!"
    for drops in ([], [1000], [1000, 1000, 1000, 1000]):
        server.drops = drops
        with pytest.raises(AtdError) as caught:
            fetch(Source(server.url, SHA256), tmp_path)
        assert "wrong checksum" in one_line(caught)
        assert SHA256 in str(caught.value)
        assert [name for name in left(tmp_path) if not name.endswith(".etag")] == []


def test_wrong_size_never_gets_the_name(tmp_path, server):
    with pytest.raises(AtdError) as caught:
        fetch(Source(server.url, size=5), tmp_path)
    assert "1000000 bytes instead of 5" in one_line(caught)
    assert not (tmp_path / "corpus.bin").exists()


def test_the_first_checksum_is_recorded_and_holds(tmp_path, server):
    path = fetch(Source(server.url), tmp_path)
    assert (tmp_path / "corpus.bin.sha256").read_text().splitlines()[-1] == f"{SHA256}  corpus.bin"
    path.unlink()
    server.content = b"something else"
    with pytest.raises(AtdError) as caught:
        fetch(Source(server.url), tmp_path)
    assert "corpus.bin.sha256 if the source is known to have changed" in one_line(caught)
    assert not path.exists()


def test_refused_requests_are_not_repeated(tmp_path, server):
    server.statuses = [404]
    with pytest.raises(AtdError) as caught:
        fetch(Source(server.url, SHA256), tmp_path)
    assert "HTTP 404" in one_line(caught)
    assert str(tmp_path) in str(caught.value)
    assert len(server.log) == 1


def test_lasting_trouble_gives_up_and_keeps_the_part(tmp_path, server):
    server.drops = [1000] + [0] * 20
    with pytest.raises(AtdError) as caught:
        fetch(Source(server.url, SHA256), tmp_path)
    assert "5 attempts (the connection broke at 1000 of 1000000 bytes)" in one_line(caught)
    assert (tmp_path / "corpus.bin.part").read_bytes() == CONTENT[:1000]
    assert not (tmp_path / "corpus.bin").exists()
    server.drops = []
    assert fetch(Source(server.url, SHA256), tmp_path).read_bytes() == CONTENT


def test_no_server_at_all(tmp_path, server):
    server.shutdown()
    server.server_close()
    with pytest.raises(AtdError) as caught:
        fetch(Source(server.url, SHA256), tmp_path)
    assert "refused" in one_line(caught)


def test_an_answer_of_unknown_length_needs_a_checksum(tmp_path, server):
    server.length = False
    with pytest.raises(AtdError) as caught:
        fetch(Source(server.url), tmp_path)
    assert "neither size nor checksum" in one_line(caught)
    server.drops = [5000]
    assert fetch(Source(server.url, size=len(CONTENT)), tmp_path).read_bytes() == CONTENT


def test_a_full_disk_keeps_the_part_for_later(tmp_path, server, monkeypatch):
    class Full:
        """A file that takes 200,000 bytes."""

        def __init__(self, path, mode, opener):
            self.file, self.room = open(path, mode, opener=opener), 200_000  # noqa: SIM115

        def write(self, data):
            if len(data) > self.room:
                raise OSError(errno.ENOSPC, "No space left on device")
            self.room -= len(data)
            return self.file.write(data)

        def __getattr__(self, name):
            return getattr(self.file, name)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

    monkeypatch.setattr(download, "CHUNK", 100_000)
    monkeypatch.setattr(download, "open", Full, raising=False)
    with pytest.raises(AtdError) as caught:
        fetch(Source(server.url, SHA256), tmp_path)
    assert "disk is full" in one_line(caught)
    assert not (tmp_path / "corpus.bin").exists()
    monkeypatch.delattr(download, "open")
    assert fetch(Source(server.url, SHA256), tmp_path).read_bytes() == CONTENT
    assert server.log[1][0] == "bytes=200000-"


def test_too_small_a_disk_is_told_before_the_transfer(tmp_path, server, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**6, 10**6 - 1000, 1000))
    with pytest.raises(AtdError) as caught:
        fetch(Source(server.url, SHA256), tmp_path)
    assert "disk is full" in one_line(caught)
    assert left(tmp_path) == []


def test_a_folder_that_cannot_be(tmp_path, server):
    (tmp_path / "file").write_text("x")
    with pytest.raises(AtdError) as caught:
        fetch(Source(server.url, SHA256), tmp_path / "file" / "folder")
    assert "cannot be written" in one_line(caught)


def test_two_at_once_download_once(tmp_path, server):
    with ThreadPoolExecutor(4) as pool:
        paths = list(pool.map(lambda _: fetch(Source(server.url, SHA256), tmp_path), range(4)))
    assert {path.read_bytes() for path in paths} == {CONTENT}
    assert len(server.log) == 1
