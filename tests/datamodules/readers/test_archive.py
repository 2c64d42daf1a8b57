"""Unpacking what nobody vouches for."""

from __future__ import annotations

import io
import tarfile
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datamodules.readers.archive import extract

NAME = st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=3).map("/".join)
FILES = st.dictionaries(NAME.map("{}.txt".format), st.binary(max_size=50), min_size=1, max_size=5)


def left(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


@settings(max_examples=40, deadline=None)
@given(files=FILES, kind=st.sampled_from(["zip", "tgz"]))
def test_files_come_out(folder, write_zip, write_tgz, files, kind):
    data = folder()
    archive = (write_zip if kind == "zip" else write_tgz)(data / f"a.{kind}", files)
    paths = extract(archive, data / "out")
    assert {str(p.relative_to(data / "out")): p.read_bytes() for p in paths} == files
    assert left(data / "out") == sorted(files)


@pytest.mark.parametrize("member", ["../out.txt", "/abs.txt", "a/../../out.txt", "..\\out.txt", "C:/out.txt"])
@pytest.mark.parametrize("kind", ["zip", "tgz"])
def test_escapes_are_refused_and_nothing_is_left(tmp_path, write_zip, write_tgz, one_line, member, kind):
    archive = (write_zip if kind == "zip" else write_tgz)(tmp_path / f"a.{kind}", {"good.txt": "x", member: "y"})
    with one_line(f"a.{kind}", "outside the folder"):
        extract(archive, tmp_path / "out")
    assert left(tmp_path) == [f"a.{kind}"]


def test_links_and_devices_are_refused(tmp_path, one_line):
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
        with tarfile.open(tmp_path / "a.tar", "w") as tar:
            info = tarfile.TarInfo("link")
            info.type, info.linkname = kind, "/etc/passwd"
            tar.addfile(info)
        with one_line("'link'", "link or a device"):
            extract(tmp_path / "a.tar", tmp_path / "out")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        info = zipfile.ZipInfo("link")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    with one_line("'link'", "link or a device"):
        extract(tmp_path / "a.zip", tmp_path / "out")
    assert left(tmp_path / "out") == []


@pytest.mark.parametrize("kind", ["zip", "tgz"])
def test_bombs_stop_at_the_limit(tmp_path, write_zip, write_tgz, one_line, kind):
    archive = (write_zip if kind == "zip" else write_tgz)(
        tmp_path / f"a.{kind}", {"a": b"0" * 3_000_000, "b": b"0" * 3_000_000}
    )
    with one_line(f"a.{kind}", "more than 5000000 bytes"):
        extract(archive, tmp_path / "out", limit=5_000_000)
    assert left(tmp_path / "out") == []


def test_damaged_archive_leaves_nothing(tmp_path, one_line):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.txt", "a" * 1000)
    data = bytearray(out.getvalue())
    data[200] ^= 0xFF
    (tmp_path / "a.zip").write_bytes(data)
    with one_line("a.zip", "damaged"):
        extract(tmp_path / "a.zip", tmp_path / "out")
    assert left(tmp_path / "out") == []
