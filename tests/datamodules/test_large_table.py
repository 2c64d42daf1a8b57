"""A million rows are read and encoded in two gigabytes, a million words a second and more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "large_table.py"
ROOT = Path(__file__).parents[2]


def run(*words: str) -> str:
    """In a process of its own, whose memory is its own."""
    command = [sys.executable, str(SCRIPT), *words]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    return done.stdout


def test_the_script_works(tmp_path):
    path = str(tmp_path / "small.parquet")
    run("write", path, "2000")
    found = json.loads(run("read", path))
    assert found["rows"] == 2000 and found["words"] > 50 * 2000


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_million_rows_fit_in_two_gigabytes(tmp_path, kind):
    """By hand: pytest -m slow tests/datamodules/test_large_table.py -s"""
    path = str(tmp_path / f"large.{kind}")
    run("write", path)
    found = json.loads(run("read", path))
    print(found)
    assert found["rows"] == 1_000_000 and found["words"] > 50_000_000
    assert found["peak_GB"] < 2
    assert found["words_per_processor_second"] > 1_000_000
