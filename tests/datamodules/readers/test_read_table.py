"""A user's table: the same columns from every format, and errors a practitioner can act on."""

from __future__ import annotations

import csv
import gzip
import io
import json

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datamodules.readers.table import read_table

TEXT = st.text(st.characters(exclude_characters="\r\0\ufeff", exclude_categories=["Cs"]), min_size=1, max_size=20)
NAME = st.text(st.sampled_from("ab7é,\"' "), min_size=1, max_size=6)
TEXTS = TEXT.filter(str.strip).filter(lambda text: not text.strip()[0].isdigit() and text[0] not in "+-")
ROWS = st.lists(st.tuples(TEXTS, st.none() | NAME, NAME), min_size=1, max_size=15)


def save(path, rows):
    """Rows of (text, gender, age) in the format that the file's name asks for."""
    kind = path.name.removesuffix(".gz").rpartition(".")[2]
    columns = {"body": [r[0] for r in rows], "gender": [r[1] for r in rows], "age": [r[2] for r in rows]}
    if kind in ("csv", "tsv"):
        out = io.StringIO()
        writer = csv.writer(out, delimiter="," if kind == "csv" else "\t", quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow([*columns, "more"])
        writer.writerows([*(v if v is not None else "" for v in row), "1"] for row in rows)
        data = out.getvalue().encode()
    elif kind == "jsonl":
        data = "".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows).encode()
    else:
        table = pa.table(columns, pa.schema(dict.fromkeys(columns, pa.string())))
        if kind == "parquet":
            pyarrow.parquet.write_table(table, path)
        elif kind == "feather":
            pyarrow.feather.write_feather(table, str(path))
        else:
            with pa.ipc.new_stream(path, table.schema) as stream:
                stream.write_table(table)
        return path
    path.write_bytes(gzip.compress(data) if path.name.endswith(".gz") else data)
    return path


@settings(max_examples=80, deadline=None)
@given(rows=ROWS, kind=st.sampled_from(["csv", "csv.gz", "tsv", "jsonl", "jsonl.gz", "parquet", "feather", "arrow"]))
def test_rows_come_back_from_every_format(folder, rows, kind):
    path = save(folder() / f"reviews.{kind}", rows)
    table = read_table(path, "body", ["gender", "age"])
    assert table.schema.names == ["text", "gender", "age"]
    assert list(zip(*(c.to_pylist() for c in table.columns), strict=True)) == rows


def test_values_are_names(tmp_path, write):
    path = write(tmp_path / "a.csv", "t,code,stars\nhello,007,4.0\nthere,08,NA\n")
    assert read_table(path, "t", ["code", "stars"]).to_pylist() == [
        {"text": "hello", "code": "007", "stars": "4.0"},
        {"text": "there", "code": "08", "stars": "NA"},
    ]
    pyarrow.parquet.write_table(
        pa.table({"t": ["x", "y"], "n": [7, None], "c": pa.array(["u", "v"]).dictionary_encode()}),
        tmp_path / "a.parquet",
    )
    assert read_table(tmp_path / "a.parquet", "t", ["n", "c"]).to_pylist() == [
        {"text": "x", "n": "7", "c": "u"},
        {"text": "y", "n": None, "c": "v"},
    ]


@pytest.mark.parametrize(
    ("name", "text", "parts"),
    [
        ("a.csv", "body,age\nx,1\n", ["no column 'text'", "body, age"]),
        ("a.csv", "text,age,age\nx,1,2\n", ["2 columns are called 'age'"]),
        ("a.csv", "text,age\n", ["no rows"]),
        ("a.csv", "", ["empty"]),
        ("a.csv", "text,age\nx,1\ny\n", ["a.csv line 3", "1 field instead of the 2 of the header"]),
        ("a.csv", "text,age\nx,1\n,2\n", ["1 of 2 rows have no text", "row 2", "drop_empty"]),
        ("a.csv", 'text,age\n"   ",1\n', ["1 of 1 rows have no text"]),
        ("a.jsonl", '{"text": "x", "age": 1}\n{"text": "y", "age": \n', ["a.jsonl line 2", "broken JSON"]),
        ("a.jsonl", '{"text": "x", "age": 1}\n{"text": null, "age": 2}\n', ["1 of 2 rows have no text"]),
        ("a.jsonl", '{"text": 5, "age": 1}\n', ["column 'text' holds numbers, not text"]),
        ("a.jsonl", '{"text": "x", "age": [1]}\n', ["column 'age' holds list"]),
        ("a.parquet", "not parquet", ["a.parquet", "not a readable table"]),
        ("a.arrow", "not arrow", ["a.arrow", "not a readable table"]),
        ("a.xlsx", "x", ["unknown table type 'xlsx'", "parquet"]),
    ],
)
def test_bad_tables(tmp_path, write, one_line, name, text, parts):
    path = write(tmp_path / name, text)
    with one_line(name, *parts):
        read_table(path, "text", ["age"])


def test_bad_requests(tmp_path, write, one_line):
    with one_line("none.csv", "no such table"):
        read_table(tmp_path / "none.csv", "text", ["age"])
    path = write(tmp_path / "a.csv", "text,age\nx,1\n,2\ny,3\n")
    with one_line("repeat"):
        read_table(path, "text", ["age", "age"])
    with one_line("repeat"):
        read_table(path, "text", ["text"])
    assert read_table(path, "text", ["age"], drop_empty=True)["age"].to_pylist() == ["1", "3"]
