"""Raw files: packed in any way they read the same; damaged in any way they give one line."""

from __future__ import annotations

import gzip
import os
import tarfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datamodules.readers import files
from datamodules.readers.files import Place, find, members, require, walk

LINE = st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]), max_size=20)


@settings(max_examples=60, deadline=None)
@given(lines=st.lists(LINE, min_size=1, max_size=20), ended=st.booleans(), packed=st.booleans(), crlf=st.booleans())
def test_lines_come_back(folder, write, lines, ended, packed, crlf):
    lines = ["x", *lines]  # a file of blanks alone is an empty file
    if not ended and not lines[-1]:
        lines[-1] = "y"
    end = "\r\n" if crlf else "\n"
    path = write(folder() / "a.txt", end.join(lines) + end * ended, packed)
    array = Place(path).lines()
    array.validate(full=True)
    assert array.to_pylist() == lines


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(
        st.tuples(*[st.text(st.characters(exclude_characters="\n\r\t\0", exclude_categories=["Cs"]), min_size=1)] * 3),
        min_size=1,
    )
)
def test_fields_come_back_in_the_order_asked(folder, write, rows):
    text = "c\ta\tb\n" + "".join("\t".join(row) + "\n" for row in rows)
    table = Place(write(folder() / "a.tsv", text)).fields(["a", "c"], header=True)
    assert table.to_pylist() == [{"a": a, "c": c} for c, a, _ in rows]


def test_quotes_are_text(tmp_path, write):
    table = Place(write(tmp_path / "a.tsv", '1\t"Open\n2\tand "shut"\n')).fields(["id", "text"], header=False)
    assert table["text"].to_pylist() == ['"Open', 'and "shut"']


@pytest.mark.parametrize("packed", [False, True])
def test_bad_bytes_name_their_line(tmp_path, write, one_line, packed):
    place = Place(write(tmp_path / "a.txt", b"one\ntwo\nth\xffree\n", packed))
    with one_line("a.txt", "line 3", "0xff", "UTF-8"):
        place.lines()


def test_uneven_fields_and_absent_columns_name_their_line(tmp_path, write, one_line):
    with one_line("a.tsv line 3", "1 fields", "id, text"):
        Place(write(tmp_path / "a.tsv", "id\ttext\n1\tx\n2\n")).fields(["id", "text"], header=True)
    with one_line("b.tsv line 1", "'text'"):
        Place(write(tmp_path / "b.tsv", "id\tbody\n1\tx\n")).fields(["id", "text"], header=True)


def test_a_header_alone_is_no_table(tmp_path, write, one_line):
    with one_line("a.tsv", "no rows"):
        Place(write(tmp_path / "a.tsv", "id\ttext\n")).fields(["id", "text"], header=True)


def test_a_byte_order_mark_is_no_text(tmp_path, write):
    place = Place(write(tmp_path / "a.txt", b"\xef\xbb\xbfone\r\ntwo"))
    assert place.lines().to_pylist() == ["one", "two"]
    assert place.text() == "one\ntwo"


@pytest.mark.parametrize("data", [b"", b" \n\n", gzip.compress(b"", mtime=0)])
def test_empty_file(tmp_path, write, one_line, data):
    with one_line("a.txt", "empty"):
        Place(write(tmp_path / "a.txt", data)).text()


@settings(max_examples=30, deadline=None)
@given(cut=st.integers(2, 60), flip=st.booleans())
def test_damaged_gzip(folder, write, one_line, cut, flip):
    data = bytearray(gzip.compress(os.urandom(50) + b"text" * 20))
    if flip:
        data[12 + cut % 40] ^= 0xFF  # within the deflate stream: its check sum fails if nothing else does
    else:
        del data[-cut:]
    with one_line("a.txt.gz", "damaged", "fetch it again"):
        Place(write(folder() / "a.txt.gz", bytes(data))).read()


def test_damaged_archives(tmp_path, write, write_zip, write_tgz, one_line):
    whole = write_zip(tmp_path / "a.zip", {"x.txt": os.urandom(500)}).read_bytes()
    with one_line("a.zip", "damaged"):
        list(walk(write(tmp_path / "a.zip", whole[:300]), ".txt"))
    whole = write_tgz(tmp_path / "a.tgz", {"x.txt": os.urandom(5000)}).read_bytes()
    with one_line("a.tgz", "damaged"):
        list(walk(write(tmp_path / "a.tgz", whole[:2000]), ".txt"))
    with one_line("b.zip:y.txt", "no such file"):
        Place(write_zip(tmp_path / "b.zip", {"x.txt": "x"}), "y.txt").read()


def test_walk_reads_folders_archives_and_packed_files_once_each(tmp_path, write, write_zip, write_tgz):
    write(tmp_path / "c" / "3.xml", "three")
    write(tmp_path / "c" / "3.xml", "three", packed=True)  # shadowed by the plain one
    write(tmp_path / "c" / "4.xml", "four", packed=True)
    write(tmp_path / "c" / "readme.md", "no")
    write_zip(tmp_path / "a.zip", {"in/2.xml": "two", "in/1.xml": "one"})
    write_tgz(tmp_path / "b.tgz", {"./9.xml": gzip.compress(b"nine")})
    assert [data for _, data in walk(tmp_path, ".xml")] == [b"one", b"two", b"nine", b"three", b"four"]


def test_links_in_a_tar_are_not_followed(tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for name, kind in (
            ("soft.txt", tarfile.SYMTYPE),
            ("hard.txt", tarfile.LNKTYPE),
            ("pipe.txt", tarfile.FIFOTYPE),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, str(tmp_path / "secret.txt")
            tar.addfile(info)
    assert list(members(tmp_path / "a.tar", ".txt")) == []


def test_a_bomb_is_cut_short(tmp_path, write, one_line, monkeypatch):
    monkeypatch.setattr(files, "LIMIT", 5_000_000)
    with one_line("a.txt.gz", "more than 5000000 bytes"):
        Place(write(tmp_path / "a.txt", b"a" * 50_000_000, packed=True)).read()


def test_find_prefers_plain_and_says_where_it_looked(tmp_path, write, one_line):
    write(tmp_path / "a.txt", "packed", packed=True)
    assert find(tmp_path / "a.txt").read() == b"packed"
    write(tmp_path / "a.txt", "plain")
    assert find(tmp_path / "a.txt").read() == b"plain"
    with one_line(str(tmp_path), "no lexicon", "x/b.txt", "c.zip", "ATD_DATA"):
        require("lexicon", tmp_path, tmp_path / "x" / "b.txt", Place(tmp_path / "c.zip", "b.txt"))


def test_a_folder_in_place_of_a_file(tmp_path, one_line):
    with one_line("cannot be read"):
        Place(tmp_path).read()
