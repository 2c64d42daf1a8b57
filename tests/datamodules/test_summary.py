"""What is printed of a corpus before training."""

from __future__ import annotations

import numpy as np

from datamodules.gutenberg import Gutenberg
from datamodules.summary import describe
from datamodules.table import TableCorpus


def test_a_table_is_described(tmp_path):
    rows = [f"déjà w{i % 5} u{i};{'fmx'[i % 3]};{1990 + i % 10};c{i % 9}" for i in range(200)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["text;gender;year;country", *rows]))
    common = {"name": "table", "path": path, "context": 2, "batch_size": 32, "seed": 0, "cache": tmp_path / "cache"}
    columns = {"attributes": ["gender", "year", "country"], "continuous": {"year": 3}}
    data = TableCorpus(text="text", min_count=2, **columns, **common)
    data.prepare_data()
    data.setup()
    lines = describe(data)
    assert lines == [
        f"{path}: csv, semicolons between fields, UTF-8, 200 rows",
        "texts: train 160  val 20  test 20",
        "words: train 480  val 60  test 60",
        "vocabulary: 9 words; unknown are 33.3% of train, 33.3% of val, 33.3% of test",
        "gender: 3 values: f 67, m 67, x 66",
        "year: numbers, with vectors at 1990, 1994.5, 1999",
        "country: 9 values: c0 23, c1 23, c2 22, c3 22, c4 22, c5 22 and 3 more, the rarest 22",
    ]


def test_many_files_are_a_few_lines(tmp_path):
    for i in range(12):
        rows = [f"some words\t{'ab'[j % 2]}" for j in range(10)]
        (tmp_path / f"{i:02}.tsv").write_text("\n".join(["text\tk", *rows]), encoding="utf-16" if i == 7 else "utf-8")
    common = {"name": "table", "path": tmp_path, "context": 2, "batch_size": 32, "seed": 0, "cache": tmp_path / "c"}
    data = TableCorpus(text="text", attributes=["k"], **common)
    data.prepare_data()
    data.setup()
    lines = describe(data)
    assert [line.rpartition("/")[2] for line in lines[:5]] == [
        "00.tsv: tsv, tabs between fields, UTF-8, 10 rows",
        "01.tsv: tsv, tabs between fields, UTF-8, 10 rows",
        "02.tsv: tsv, tabs between fields, UTF-8, 10 rows",
        "07.tsv: tsv, tabs between fields, UTF-16, 10 rows",
        "and 8 more files, 120 rows in all",
    ]


def test_any_corpus_is_described(tmp_path):
    common = {"name": "books", "path": tmp_path, "context": 2, "batch_size": 32, "seed": 0, "cache": tmp_path / "cache"}
    data = Gutenberg(sample=True, **common)
    data.prepare_data()
    data.setup()
    lines = describe(data)
    counts = np.bincount(np.concatenate([part.attributes for part in data.encoded.values()]))
    assert lines[0].startswith("texts: train") and f"8 values: {data.attributes[counts.argmax()]}" in lines[-1]
