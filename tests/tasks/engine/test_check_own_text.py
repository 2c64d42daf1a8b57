"""Texts of one's own that are given without saying which data they are: one line says how."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir

from atd.errors import AtdError
from tasks.engine.check import check

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("data.path=x.csv", "your own table is data=table data.path=x.csv data.text=text"),
        ("data.path=posts-1.csv.zst", "your own table is data=table data.path=posts-1.csv.zst"),
        ("data.path=letters", "a folder of texts data=folder data.path=letters"),
        ("data=gutenberg data.path=x.parquet", "data=gutenberg reads no table; your own table is data=table"),
        ("data=treebank data.path=x.jsonl.gz", "data=treebank reads no table; your own table is data=table"),
    ],
)
def test_a_path_alone_is_not_ignored(words, says):
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        cfg = compose("config", words.split())
    with pytest.raises(AtdError) as error:
        check(cfg)
    assert says in str(error.value) and "\n" not in str(error.value)


def test_keys_of_a_table_say_where_they_belong(tmp_path):
    words = ["data.path=x.csv", "data.text=body", "data.attributes=[age]"]
    command = [sys.executable, str(ROOT / "run.py"), *words, f"paths.outputs={tmp_path}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (
        done.returncode
        and done.stderr == "error: data.text: belongs to data=table; add data=table data.path=reviews.csv\n"
    )
