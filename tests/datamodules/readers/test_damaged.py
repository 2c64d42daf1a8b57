"""Damage that once ended the process, took all memory, or came out as a traceback: one line each."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import struct
import tarfile
import zipfile

import pyarrow as pa
import pyarrow.parquet
import pytest

from atd.errors import AtdError
from datamodules.readers import archive, books, delimited, files
from datamodules.readers.archive import extract
from datamodules.readers.blogs import read_authors, read_blogs
from datamodules.readers.books import chapters, read_books
from datamodules.readers.files import Place
from datamodules.readers.folder import FolderReader
from datamodules.readers.reuters import read_reuters
from datamodules.readers.table import read_table
from datamodules.readers.trees import read_trees
from tests.faults.limits import Limits, outcomes

UTF16 = "text,age\nx,1\n".encode("utf-16-le")
BLOG = "<Blog><date>31,May,2004</date><post>x</post></Blog>"


@pytest.mark.parametrize("text", ["[" * 30_000, '{"a":' * 30_000, "[" * 30_000 + "]" * 30_000])
@pytest.mark.parametrize("kind", ["json", "jsonl"])
def test_nested_brackets(tmp_path, write, one_line, text, kind):
    path = write(tmp_path / f"a.{kind}", text)
    with one_line(f"a.{kind}", "brackets inside brackets"):
        read_table(path, "text", ["age"])


def test_a_whole_number_of_thousands_of_digits(tmp_path, write, one_line):
    path = write(tmp_path / "a.jsonl", '{"text": "x", "age": 1}\n{"text": "x", "age": %s}\n' % ("9" * 5000))
    with one_line("a.jsonl line 2", "broken JSON"):
        read_table(path, "text", ["age"])


def test_a_book_of_no_break_spaces(tmp_path, write, one_line):
    write(tmp_path / "gutenberg" / "a.txt", "\u00a0\n\n\u00a0\n")
    with one_line("a.txt", "no text"):
        read_books(tmp_path)
    verses = "The Book of Ruth\n\n1:1 Now\n\n\u00a0\n\n1:2 And\n\n1:3 And"
    assert chapters(verses) == [("The Book of Ruth", verses.replace("\u00a0\n\n", ""))]


def test_a_book_of_many_paragraphs_takes_no_time(monkeypatch):
    """The words of a chapter are counted once, not once for each paragraph."""
    calls = []
    monkeypatch.setattr(books, "sum", lambda *given: calls.append(0) or sum(*given), raising=False)
    chapters("\n\n".join(["a word"] * 2000))
    assert len(calls) < 20


def test_a_tree_that_branches_to_the_left_takes_no_memory(tmp_path, write):
    words = 40_000
    write(tmp_path / "sst" / "train.txt", "(2 " * words + "(2 word)" + " (2 word))" * words)
    (found,) = outcomes(lambda case: read_trees(tmp_path, "train"), [0], "train.txt line 1", Limits(growth=1 << 28))
    assert found.kind == "refused" and "the texts of all nodes" in found.what


@pytest.mark.parametrize("data", [UTF16, b"text,age\nx\0y,1\n"])
def test_zero_bytes_are_no_text(tmp_path, write, one_line, data):
    with one_line("a.csv line", "zero bytes"):
        read_table(write(tmp_path / "a.csv", data), "text", ["age"])
    with one_line("a.tsv line", "zero bytes"):
        Place(write(tmp_path / "a.tsv", data)).lines()
    write(tmp_path / "gutenberg" / "a.txt", data)
    with one_line("a.txt line", "zero bytes"):
        read_books(tmp_path)
    write(tmp_path / "texts" / "a.txt", data)
    with one_line("a.txt line", "zero bytes"):
        list(FolderReader(tmp_path / "texts", "*.txt", None, "file", ["file"]))
    write(tmp_path / "blogs" / "1.male.25.Student.Leo.xml", BLOG.replace("x", "\0" * 9))
    with one_line("Leo.xml line 1", "zero bytes"):
        read_blogs(tmp_path)


def test_a_zero_byte_among_much_text_is_let_be(tmp_path, write):
    """The blog corpus has some."""
    text = "a word " * 100 + "\0"
    assert Place(write(tmp_path / "a.txt", text)).lines().to_pylist() == [text]
    table = read_table(write(tmp_path / "a.csv", f"text,age\n{text},1\n"), "text", ["age"])
    assert table["text"].to_pylist() == [text]


@pytest.mark.parametrize("data", ["\ufeff", "\ufeff\n", codecs.BOM_UTF16_LE])
def test_a_mark_alone_is_an_empty_table(tmp_path, write, one_line, data):
    with one_line("a.csv", "the file is empty"):
        read_table(write(tmp_path / "a.csv", data), "text", ["age"])


def test_a_lone_carriage_return_ends_a_line(tmp_path, write, one_line):
    assert len(read_table(write(tmp_path / "a.csv", "text,age\rx,1\ry,2\r"), "text", ["age"])) == 2
    with one_line("b.csv", "the file is empty"):
        read_table(write(tmp_path / "b.csv", "\r"), "text", ["age"])
    with one_line("c.csv line 3", "1 field instead of the 2"):
        read_table(write(tmp_path / "c.csv", "text,age\nx,1\ny\rz,2\n"), "text", ["age"])


def test_a_header_without_end(tmp_path, write, one_line):
    with one_line("a.csv line 1", "its first row does not end"):
        read_table(write(tmp_path / "a.csv", "a" * (1 << 20)), "text", ["age"])
    with one_line("b.csv line 1", "its first row does not end"):
        read_table(write(tmp_path / "b.csv", ",".join(map(str, range(200_000)))), "text", ["age"])
    with one_line("c.tsv line 1", "the header must name id, text"):
        Place(write(tmp_path / "c.tsv", "\t".join(map(str, range(200_000))))).fields(["id", "text"], header=True)


def test_a_field_that_is_too_long(tmp_path, write, one_line, monkeypatch):
    monkeypatch.setattr(delimited, "HEAD", 1000)
    monkeypatch.setattr(delimited, "BLOCK", 10_000)
    path = write(tmp_path / "a.csv", 'text,age\nx,1\n"' + "a" * 100_000)
    with one_line("a.csv line 3", "a field of more than 10000 bytes"):
        read_table(path, "text", ["age"])


def test_names_that_cannot_be_shown(tmp_path, write, one_line):
    with one_line("a.csv", "no column 'text'", "\\x1b[31m, b"):
        read_table(write(tmp_path / "a.csv", "\x1b[31m,b\nx,1\n"), "text", ["age"])


def arrow(**options) -> bytes:
    out = io.BytesIO()
    table = pa.table({"text": ["a word", "two", "three"], "age": pa.array(["x", "y", "x"]).dictionary_encode()})
    with pa.ipc.new_file(out, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as file:
        file.write_table(table)
    return out.getvalue()


OFFSETS, INDICES = struct.pack("<4i", 0, 6, 9, 14), struct.pack("<3i", 0, 1, 0)


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (OFFSETS, struct.pack("<4i", 0, 6, 9, 2**31 - 1)),
        (OFFSETS, struct.pack("<4i", 0, -(2**31), 9, 14)),
        (INDICES, struct.pack("<3i", 0, 2**30, 0)),
        (b"a word", b"a \xfford"),
    ],
)
def test_an_arrow_file_that_points_outside_itself(tmp_path, good, bad):
    """In a child: to touch what these point to ends the process."""
    assert good in arrow()
    (tmp_path / "a.arrow").write_bytes(arrow().replace(good, bad))
    (found,) = outcomes(lambda case: read_table(tmp_path / "a.arrow", "text", ["age"]), [0], "a.arrow")
    assert found.kind == "refused" and "not a readable table" in found.what


def test_old_feather_is_refused(tmp_path, write, one_line):
    with one_line("a.feather", "feather of version 1"):
        read_table(write(tmp_path / "a.feather", b"FEA1" + arrow()), "text", ["age"])


def test_a_parquet_file_whose_error_cannot_be_shown(tmp_path):
    """Thrift tells of a type that it does not know by the byte itself."""
    pyarrow.parquet.write_table(pa.table({"text": ["a"], "age": ["b"]}), tmp_path / "a.parquet")
    data = bytearray((tmp_path / "a.parquet").read_bytes())
    data[-8 - int.from_bytes(data[-8:-4], "little")] = 0x1E
    (tmp_path / "a.parquet").write_bytes(data)
    with pytest.raises(AtdError, match="not a readable table") as error:
        read_table(tmp_path / "a.parquet", "text", ["age"])
    assert str(error.value).isprintable()


def test_every_byte_of_the_footer_of_a_parquet_file(tmp_path):
    """In a child: pyarrow ends the process when asked for a column whose statistics do not fit its type."""
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pa.table({"text": ["a", "b"], "age": [["x"], None]}), path)
    whole = path.read_bytes()
    footer = range(len(whole) - 8 - int.from_bytes(whole[-8:-4], "little"), len(whole) - 8)

    def read(at: int) -> None:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 2]) + whole[at + 1 :])
        read_table(path, "text", [])

    found = list(outcomes(read, footer, "a.parquet"))
    assert len(found) == len(footer) and [one for one in found if one.kind == "lost"] == []


def test_columns_that_unpack_to_far_more_than_the_file(tmp_path, one_line, monkeypatch):
    monkeypatch.setattr(files, "SMALL", 1 << 20)
    table = pa.table({"text": ["a" * 100_000] * 50, "age": ["b"] * 50})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet", compression="zstd", use_dictionary=False)
    with pa.ipc.new_file(
        tmp_path / "a.arrow", table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")
    ) as file:
        file.write_table(table)
    for name in ("a.parquet", "a.arrow"):
        with one_line(name, "unpacks to more than 50 times its size"):
            read_table(tmp_path / name, "text", ["age"])


def test_damaged_blogs(tmp_path, write, write_zip, one_line):
    table = "id,gender,age,topic,sign,date,text\n7,male,25,Student,Leo,x,One day\n"
    path = write(tmp_path / "a" / "blogtext.csv", table, packed=True)
    path.write_bytes(path.read_bytes()[:-12])
    with one_line("blogtext.csv.gz", "not the corpus table"):
        read_authors(tmp_path / "a")
    write(tmp_path / "b" / "blogtext.csv", table.split("\n")[0] + "\n")
    with one_line("blogtext.csv", "no rows"):
        read_authors(tmp_path / "b")
    write(tmp_path / "c" / "blogtext.csv", table.replace("25", "99999999999"))
    with one_line("blogtext.csv line 2", "'99999999999' is not a number of at most 3 digits"):
        read_authors(tmp_path / "c")
    write(tmp_path / "d" / "blogtext.csv", table.replace("day", "\0"))
    with one_line("blogtext.csv", "zero bytes"):
        read_blogs(tmp_path / "d")
    write_zip(tmp_path / "e" / "blogs.zip", {"readme.txt": "x"})
    with one_line("blogs.zip", "no id.gender.age.industry.sign.xml file"):
        read_authors(tmp_path / "e")


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2, zipfile.ZIP_DEFLATED])
def test_a_damaged_day_of_news(tmp_path, one_line, method):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as made:
        made.writestr("1.xml", json.dumps(list(range(300))))
    data = bytearray(out.getvalue())
    data[50:90] = bytes(range(200, 240))
    (tmp_path / "reuters" / "de").mkdir(parents=True)
    (tmp_path / "reuters" / "de" / "19960820.zip").write_bytes(data)
    with one_line("19960820.zip", "the file is damaged"):
        read_reuters(tmp_path, "de")


def test_a_damaged_header_of_a_tar(tmp_path, one_line):
    """Python's reader of tars meets it with a TypeError of its own."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as made:
        info = tarfile.TarInfo("x")
        info.pax_headers = {"GNU.sparse.map": "0,x,1", "GNU.sparse.size": "9"}
        made.addfile(info)
    (tmp_path / "a.tar").write_bytes(out.getvalue())
    with one_line("a.tar", "the file is damaged"):
        extract(tmp_path / "a.tar", tmp_path / "out")


def test_a_packed_file_may_not_grow_without_bound(tmp_path, write, write_zip, one_line, monkeypatch):
    monkeypatch.setattr(files, "SMALL", 1 << 20)
    bomb = b"text,age\n" + b"a" * (8 << 20)
    says = "unpacks to more than 50 times its size"
    with one_line("a.csv.gz", says):
        read_table(write(tmp_path / "a.csv", bomb, packed=True), "text", ["age"])
    with one_line("a.txt.gz", says):
        Place(write(tmp_path / "a.txt", bomb, packed=True)).text()
    with one_line("a.zip", says):
        extract(write_zip(tmp_path / "a.zip", {"a": bomb}), tmp_path / "out")
    (tmp_path / "a.jsonl.zst").write_bytes(pa.Codec("zstd").compress(bomb, asbytes=True))
    with one_line("a.jsonl.zst", says):
        read_table(tmp_path / "a.jsonl.zst", "text", ["age"])
    plain = write(tmp_path / "b.csv", b"text,age\n" + b"a word,1\n" * 300_000)
    assert len(read_table(plain, "text", ["age"])) == 300_000


def test_an_archive_of_too_many_files(tmp_path, write_zip, one_line, monkeypatch):
    monkeypatch.setattr(archive, "MEMBERS", 3)
    assert len(extract(write_zip(tmp_path / "a.zip", dict.fromkeys("abc", "x")), tmp_path / "out")) == 3
    with one_line("b.zip", "more than 3 files"):
        extract(write_zip(tmp_path / "b.zip", dict.fromkeys("abcd", "x")), tmp_path / "out2")


def test_a_damaged_gzip_of_a_table(tmp_path, one_line):
    data = bytearray(gzip.compress(b"text,age\n" + bytes(range(32, 127)) * 20))
    data[20:30] = b"\xff" * 10
    (tmp_path / "a.csv.gz").write_bytes(data)
    with one_line("a.csv.gz", "cannot be read or unpacked"):
        read_table(tmp_path / "a.csv.gz", "text", ["age"])
