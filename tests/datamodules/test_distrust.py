"""Downloads from a server that means harm, or a network that answers in its place: one line, and nothing is kept."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
import urllib.request
import zipfile
from http.server import BaseHTTPRequestHandler

import pytest

from atd.errors import AtdError
from datamodules import download
from datamodules.download import fetch
from datamodules.sources import SOURCES, Source
from tests.datamodules.serving import serving

PAGE = b"<!DOCTYPE html>\n<html><head><title>Welcome</title></head><body>Accept the terms</body></html>"


def zipped(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def tarred(**members: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


class Handler(BaseHTTPRequestHandler):
    """Answers with the server's `body` under its `kind`; `length` None: without Content-Length, until it closes."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        server = self.server
        if server.location:
            self.send_response(302)
            self.send_header("Location", server.location)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        self.send_response(200)
        self.send_header("Content-Type", server.kind)
        self.send_header("Connection", "close")
        if server.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(len(server.body)))
        self.end_headers()
        self.close_connection = True
        try:
            for _ in range(server.times):
                if server.chunked:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(server.body), server.body))
                else:
                    self.wfile.write(server.body)
            if server.chunked:
                self.wfile.write(b"0\r\n\r\n")
        except ConnectionError:
            server.hung_up = True

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(download, "DELAY", 0.001)
    with serving(Handler) as server:
        server.kind, server.body, server.chunked, server.times = "application/octet-stream", b"", False, 1
        server.location, server.hung_up = None, False
        yield server


def refused(source: Source, folder) -> str:
    """The one line, after which nothing of the file is left."""
    with pytest.raises(AtdError) as caught:
        fetch(source, folder)
    left = {path.name for path in folder.iterdir()}
    assert not left & {source.file, source.file + ".part", source.file + ".sha256"}
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("kind", ["text/html", "text/html; charset=utf-8", "application/octet-stream"])
@pytest.mark.parametrize("file", ["words.txt", "corpus.zip", "corpus.tgz"])
def test_a_web_page_is_no_corpus(tmp_path, server, kind, file):
    """A network that wants a sign-in answers everything with its page and 200."""
    server.kind, server.body = kind, PAGE
    assert "a web page came instead of the file" in refused(Source(server.at + file), tmp_path)


@pytest.mark.parametrize("chunked", [False, True])
def test_an_empty_file_is_no_corpus(tmp_path, server, chunked):
    server.chunked, server.times = chunked, 0
    assert "an empty file came" in refused(Source(server.at + "words.txt"), tmp_path)


@pytest.mark.parametrize("file", ["corpus.zip", "corpus.tgz"])
def test_what_came_must_be_an_archive_of_its_kind(tmp_path, server, file):
    server.body = b"Error: try again later\n" * 10
    assert f"no .{file[-3:]} archive" in refused(Source(server.at + file), tmp_path)


@pytest.mark.parametrize("make", [zipped, tarred])
def test_an_archive_without_a_checksum_must_be_whole_and_hold_its_members(tmp_path, server, make, capsys):
    file = "corpus.zip" if make is zipped else "corpus.tgz"
    source = Source(server.at + file, members=("a.txt",))
    whole = make(**{"a.txt": os.urandom(9000)})
    server.body = whole[: len(whole) * 2 // 3]
    assert "a broken archive" in refused(source, tmp_path)
    server.body = make(**{"b.txt": b"something else"})
    assert "a.txt is not in it" in refused(source, tmp_path)
    server.body = whole
    assert "5000000 at least" in refused(Source(server.at + file, least=5_000_000), tmp_path)
    capsys.readouterr()
    assert fetch(source, tmp_path).read_bytes() == whole
    said = " ".join(capsys.readouterr().err.split())
    assert "not verified, because no checksum is published" in said and hashlib.sha256(whole).hexdigest() in said
    assert "# not verified" in (tmp_path / f"{file}.sha256").read_text()


@pytest.mark.parametrize("algorithm", ["md5", "sha1"])
def test_a_published_digest_of_an_older_kind_is_held_to(tmp_path, server, algorithm, capsys):
    server.body = b"not what was published"
    right = hashlib.new(algorithm, b"what was published").hexdigest()
    source = Source(server.at + "words.txt", digest=f"{algorithm}:{right}")
    assert f"wrong checksum, {'MD5' if algorithm == 'md5' else 'SHA-1'}" in refused(source, tmp_path)
    server.body = b"what was published"
    assert fetch(source, tmp_path).read_bytes() == server.body
    assert "not verified" not in capsys.readouterr().err + (tmp_path / "words.txt.sha256").read_text()


@pytest.mark.parametrize("known", [True, False])
def test_more_bytes_than_announced_are_cut_and_refused(tmp_path, server, known, monkeypatch):
    """Also from a stream without end: it is left after the last byte there should be."""
    monkeypatch.setattr(download, "LONGEST", 3 << 20)
    server.body, server.chunked, server.times = b"x" * (1 << 20), True, 1000
    source = Source(server.at + "words.txt", size=2 << 20 if known else None)
    assert f"more than the {(2 if known else 3) << 20} bytes it should have" in refused(source, tmp_path)


def test_more_bytes_than_known_are_refused_before_they_come(tmp_path, server, monkeypatch):
    monkeypatch.setattr(download, "_bar", None)  # the transfer would fail
    server.body = b"x" * (1 << 20)
    source = Source(server.at + "words.txt", hashlib.sha256(b"").hexdigest(), size=1000)
    assert "1048576 bytes instead of 1000" in refused(source, tmp_path)


@pytest.mark.parametrize("beside", [".part", ".part.etag", ".sha256"])
@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_nothing_is_written_through_a_link(tmp_path, server, beside, link):
    server.body = b"harmful words\n"
    folder = tmp_path / "data"
    folder.mkdir()
    (tmp_path / "precious").write_text("precious")
    link(tmp_path / "precious", folder / f"words.txt{beside}")
    with pytest.raises(AtdError) as caught:
        fetch(Source(server.at + "words.txt"), folder)
    assert f"words.txt{beside}: a link or no plain file" in str(caught.value)
    assert (tmp_path / "precious").read_text() == "precious"
    assert not (folder / "words.txt").exists()


def test_a_link_put_there_in_the_meantime_is_not_followed(tmp_path, server, monkeypatch):
    """Between the look and the opening."""
    server.body = b"harmful words\n"
    (tmp_path / "precious").write_text("precious")
    os.symlink(tmp_path / "precious", tmp_path / "words.txt.part")
    monkeypatch.setattr(download, "refuse_link", lambda _: None)
    with pytest.raises(AtdError, match="cannot be written"):
        fetch(Source(server.at + "words.txt"), tmp_path)
    assert (tmp_path / "precious").read_text() == "precious"


def test_a_pipe_does_not_hold_the_download_up(tmp_path, server):
    os.mkfifo(tmp_path / "words.txt.part")
    with pytest.raises(AtdError, match="no plain file"):
        fetch(Source(server.at + "words.txt"), tmp_path)


def test_redirects_stay_in_their_scheme(tmp_path, server):
    server.location = "ftp://127.0.0.1:9/words.txt"
    assert "redirects to ftp:, which is not followed" in refused(Source(server.at + "words.txt"), tmp_path)
    server.location = "file:///etc/passwd"
    assert "HTTP 302" in refused(Source(server.at + "words.txt"), tmp_path)


def test_https_does_not_become_http():
    handler = download._Loyal()
    asked = urllib.request.Request("https://example.org/a.zip")
    with pytest.raises(AtdError, match="redirects to http:"):
        handler.redirect_request(asked, None, 302, "Found", {}, "http://example.org/a.zip")
    assert handler.redirect_request(asked, None, 302, "Found", {}, "https://example.org/b.zip").type == "https"


@pytest.mark.parametrize("content", ["", "nonsense\n"])
def test_a_spoilt_record_is_named(tmp_path, server, content):
    server.body = b"words\n"
    (tmp_path / "words.txt.sha256").write_text(content)
    with pytest.raises(AtdError, match=r"words\.txt\.sha256: holds no SHA-256; delete it"):
        fetch(Source(server.at + "words.txt"), tmp_path)


def test_a_spoilt_etag_is_not_sent(tmp_path, server):
    server.body = b"words\n"
    (tmp_path / "words.txt.part").write_bytes(b"wo")
    (tmp_path / "words.txt.part.etag").write_text('"v1"\r\nX-Harm: yes')
    assert fetch(Source(server.at + "words.txt"), tmp_path).read_bytes() == b"words\n"


def test_every_source_has_a_proof():
    for name, source in SOURCES.items():
        assert source.published or (source.members and source.least > 1 << 20), name
        if source.digest:
            assert source.size, f"{name}: an old digest needs a size beside it"
            algorithm, _, value = source.digest.partition(":")
            assert len(bytes.fromhex(value)) == hashlib.new(algorithm).digest_size
