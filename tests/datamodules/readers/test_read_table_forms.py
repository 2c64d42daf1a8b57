"""Tables as strangers write them: any delimiter, encoding and packing, many files; what is wrong is one clear line."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datamodules.readers.table import TableReader, find_tables, read_table

WORDS = st.lists(
    st.sampled_from(["fine,", "it's", "a|b", 'a "word"', "x;y", "tab\there", "line\nend", "été", "и", "naïve"])
)
ROWS = st.lists(
    st.tuples(WORDS.map(lambda words: "w " + " ".join(words)), st.sampled_from("ab")), min_size=1, max_size=12
)


def table(rows, delimiter=",") -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows([["text", "age", "note"], *rows])
    return out.getvalue()


@settings(max_examples=120, deadline=None)
@given(
    rows=ROWS,
    delimiter=st.sampled_from(",\t;|"),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-be"]),
    packing=st.sampled_from(["", ".gz", ".zst"]),
    kind=st.sampled_from(["csv", "tsv"]),
    ends=st.sampled_from(["\n", "\r\n"]),
)
def test_delimiter_encoding_and_packing_are_found_out(folder, rows, delimiter, encoding, packing, kind, ends):
    text = table([[*row, "1,5"] for row in rows], delimiter).replace("\n", ends)
    data = ("\ufeff" * (encoding == "utf-16-be") + text).encode(encoding)
    data = {"": bytes, ".gz": gzip.compress, ".zst": pa.Codec("zstd").compress}[packing](data)
    data = data if isinstance(data, bytes) else data.to_pybytes()
    path = folder() / f"t.{kind}{packing}"
    path.write_bytes(data)
    reader = TableReader(path, "text", ["age"])
    found = pa.concat_tables(reader).to_pylist()
    assert [(row["text"].replace("\r\n", "\n"), row["age"]) for row in found] == rows
    assert (reader.sources[0].delimiter, reader.sources[0].rows) == (delimiter, len(rows))
    assert reader.sources[0].encoding == encoding.removesuffix("-be")


def test_old_files_are_read_with_a_note(tmp_path, write, capsys):
    path = write(tmp_path / "a.csv", "text;age\nÀ la carte – déjà vu;1\n“Grüße” für 5 €;2\n".encode("cp1252"))
    assert read_table(path, "text", ["age"])["text"].to_pylist() == ["À la carte – déjà vu", "“Grüße” für 5 €"]
    note = capsys.readouterr().err
    assert "a.csv: not UTF-8; read as cp1252" in note


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        (
            "text,age\né,1\nà,2\nü,3\n".encode() + b"\xff,4\n",
            ["a.csv line 5", "byte 0xff is not UTF-8, as the rest is"],
        ),
        (b"text,age\nx,1\n\x81\xe9,2\n", ["a.csv line 3", "not UTF-8", "not cp1252 either"]),
        ("text,age\nx,1\n".encode("utf-16-le"), ["zero bytes: UTF-16 without its mark"]),
        ("text,age\nx,1\n".encode("utf-16") + b"\x00\xd8", ["is not UTF-16"]),
        (b"  \n\n", ["the file is empty"]),
        ("text,age\nx,1\n\ny,2,3\n", ["a.csv line 4", "3 fields instead of the 2 of the header"]),
        ('text,age\n"a\nb\nc",1\nz\n', ["a.csv line 5", "1 field instead of the 2"]),
        ('text,age\nx,1\n"y,2\n' + "z,3\n" * 2000, ["a.csv line 3", "a quote that opens in this row does not close"]),
        ("txt,Age\nx,1\n", ["no column 'text'; the columns are txt, Age"]),
        ("a,b,c,Text\nx,1,2,3\n", ["no column 'text'; the columns are Text, a, b, c"]),
        ("text,age\n5,1\n7.25,2\n", ["column 'text' holds numbers, not text; set data.text"]),
        (gzip.compress(b"text,age\nx,1\n" * 1000, mtime=0)[:-20], ["cannot be read or unpacked"]),
    ],
)
def test_broken_csv(tmp_path, write, one_line, data, parts):
    path = write(tmp_path / "a.csv", data)
    with one_line("a.csv", *parts):
        read_table(path, "text", ["age"])


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('{"text": "x", "age": 1}\n\n{"text": "y", "age" 2}\n', ["a.json line 3", "broken JSON"]),
        ('[{"text": "x", "age": 1},\n{"text": "y",}]', ["a.json line 2", "broken JSON"]),
        ('["x", "y"]', ["a.json line 1", "not an object with columns but str"]),
        ('{"text": "x", "Age": 1}\n', ["no column 'age'; the columns are Age, text"]),
        ("[]", ["no rows"]),
        ('{"text": "x", "age": {"from": 1}}\n', ["column 'age' holds objects"]),
    ],
)
def test_broken_json(tmp_path, write, one_line, text, parts):
    path = write(tmp_path / "a.json", text)
    with one_line("a.json", *parts):
        read_table(path, "text", ["age"])


def test_json_values_are_what_they_stand_for(tmp_path, write):
    rows = [{"text": "x", "age": 7}, {"text": "y", "age": "7"}, {"text": "z\ud83d", "age": 4.0, "more": []}]
    rows += [{"text": "u", "age": True}, {"text": "v"}, {"text": "w", "age": 0.5}]
    found = [("x", "7"), ("y", "7"), ("z\ufffd", "4"), ("u", "true"), ("v", None), ("w", "0.5")]
    listed = write(tmp_path / "list.json", json.dumps(rows))
    lines = write(tmp_path / "lines.ndjson", "\n".join(map(json.dumps, rows)))
    for path in (listed, lines):
        assert [(row["text"], row["age"]) for row in read_table(path, "text", ["age"]).to_pylist()] == found


def test_values_that_are_no_numbers_are_missing(tmp_path):
    """As pandas writes whole numbers some of which are missing."""
    columns = {"text": ["x", "y"], "n": [7.0, float("nan")], "when": pa.array([0, 1], pa.timestamp("s"))}
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    rows = read_table(tmp_path / "a.parquet", "text", ["n", "when"]).to_pylist()
    assert [row["n"] for row in rows] == ["7", None] and rows[0]["when"].startswith("1970-01-01")


def test_many_files_are_one_table(tmp_path, write, one_line):
    write(tmp_path / "posts-1.csv", "text,age\nx,1\n")
    write(tmp_path / "posts-2.csv", "age;text;more\n2;y;0\n", packed=True)
    write(tmp_path / "posts-3.jsonl", '{"text": "z", "age": 3}\n')
    write(tmp_path / "posts-1.csv", "text,age\nx,1\n", packed=True)  # the same once more
    write(tmp_path / "notes.txt", "no table")
    write(tmp_path / "_hidden.csv", "no table")
    assert [path.name for path in find_tables(tmp_path)] == ["posts-1.csv", "posts-2.csv.gz", "posts-3.jsonl"]
    assert read_table(tmp_path, "text", ["age"])["text"].to_pylist() == ["x", "y", "z"]
    assert read_table(tmp_path / "posts-*.csv*", "text", ["age"])["age"].to_pylist() == ["1", "2"]
    write(tmp_path / "posts-4.csv", "text,sex\nx,1\n")
    with one_line("posts-4.csv: no column 'age'; the columns are text, sex"):
        read_table(tmp_path, "text", ["age"])
    with one_line("nothing-*.csv: no such table"):
        find_tables(tmp_path / "nothing-*.csv")
    (tmp_path / "empty").mkdir()
    with one_line("empty: no table in this folder"):
        find_tables(tmp_path / "empty")


def test_batches_are_the_table(tmp_path, monkeypatch):
    """Rows that cross the blocks in which a file is read, and pieces of one large batch."""
    from datamodules.readers import columnar, delimited, records

    monkeypatch.setattr(delimited, "BLOCK", 4000)
    monkeypatch.setattr(records, "ROWS", 7)
    monkeypatch.setattr(columnar, "BYTES", 3000)
    draw = random.Random(0)
    rows = [(f"w{i} " + 'line\n"end", ' * draw.randrange(30), str(i % 3)) for i in range(200)]
    (tmp_path / "a.csv").write_text(table([[*row, ""] for row in rows]))
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": t, "age": a}) + "\n" for t, a in rows))
    columns = pa.table({"text": [t for t, _ in rows], "age": [a for _, a in rows]})
    pyarrow.parquet.write_table(columns, tmp_path / "a.parquet")
    with pa.ipc.new_file(tmp_path / "a.arrow", columns.schema) as file:
        file.write_table(columns)
    for kind in ("csv", "jsonl", "parquet", "arrow"):
        batches = list(TableReader(tmp_path / f"a.{kind}", "text", ["age"]))
        assert len(batches) > 5, kind
        assert [tuple(row.values()) for row in pa.concat_tables(batches).to_pylist()] == rows
