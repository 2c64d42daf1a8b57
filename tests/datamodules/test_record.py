"""A run remembers what it read: a corpus that changed meanwhile is refused, one that was only touched is not."""

from __future__ import annotations

import os

import pytest

from atd.errors import AtdError
from datamodules.record import recorded
from datamodules.table import TableCorpus

TEXT = "text,place\n" + "".join(f"the ship sees wave {i} and sail,{'sea' if i % 2 else 'farm'}\n" for i in range(60))


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "places.csv"
    path.write_text(TEXT)

    def opened() -> None:
        given = {"context": 3, "batch_size": 32, "seed": 0, "cache": tmp_path / "cache"}
        corpus = TableCorpus(name="table", path=path, text="text", attributes=["place"], **given)
        with recorded(tmp_path / "corpora.json"):
            corpus.prepare_data()

    opened()
    return path, opened


def test_the_same_text_is_opened_again(table):
    path, opened = table
    opened()
    os.utime(path, (1, 1))  # copied or restored: another time, the same text
    opened()


def test_text_that_changed_is_refused_by_name(table):
    path, opened = table
    path.write_text(TEXT.replace("sail", "gull"))
    with pytest.raises(AtdError, match=rf"data=table: {path} changed \([\d,]+ bytes then, [\d,]+ now\) since this run"):
        opened()
    path.write_text(TEXT)
    opened()


def test_a_damaged_record_is_said(table, tmp_path, capsys):
    (tmp_path / "corpora.json").write_text("{")
    table[1]()
    assert "corpora.json: damaged" in capsys.readouterr().out
