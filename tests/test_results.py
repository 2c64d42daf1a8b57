"""The results table of the README comes from records of runs, and says nothing that they contradict."""

from __future__ import annotations

import gzip
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from small_runs import ROOT


@pytest.fixture(scope="module")
def results():
    sys.path.insert(0, str(ROOT / "docs"))
    yield importlib.import_module("results")
    sys.path.remove(str(ROOT / "docs"))


@pytest.fixture(scope="module")
def claims(results):
    return importlib.import_module("claims")


def write_run(folder: Path, rows: dict, command: str = "python run.py") -> Path:
    folder.mkdir()
    (folder / "metrics.json").write_text(json.dumps({"task": "attributes", "seconds": 61.7, "rows": rows}))
    (folder / "versions.json").write_text(json.dumps({"command": command, "revision": "abc1234"}))
    return folder


def test_the_readme_has_the_table_that_the_records_give(results):
    readme = results.README.read_text(encoding="utf-8")
    assert results.BLOCK.search(readme)
    assert results.filled(readme) == readme, "python docs/results.py write"


def test_every_record_is_used_and_names_no_machine(results, claims):
    used = {line.record for line in claims.LINES}
    for path in results.RECORDS.glob("*.json"):
        assert path.stem in used
        commands = json.loads(path.read_text(encoding="utf-8"))["commands"]
        assert commands and not any("=/" in command for command in commands)


def test_a_claim_that_its_control_beats_is_refused(claims):
    here = claims.Cell("atd", ("perplexity",))
    control = claims.Cell("lbl", ("perplexity",), "log-bilinear")
    line = claims.Line("books", "books", here, [control], ["log-bilinear"], "so", lower=True)
    good = {"rows": {"atd": {"perplexity": 80.25, "perplexity_sd": 0.04}, "lbl": {"perplexity": 90.0}}}
    assert line.text(good) == "| books | 80.2 ± 0.0 | log-bilinear 90.0 | so |"
    for theirs in (80.25, 79.0):
        with pytest.raises(SystemExit, match="says that it beats log-bilinear"):
            line.text({"rows": {**good["rows"], "lbl": {"perplexity": theirs}}})


def test_a_line_with_two_numbers_beats_only_what_is_worse_in_both(claims):
    cells = [claims.Cell(row, ("fine", "binary"), row) for row in ("atd", "average")]
    line = claims.Line("sentiment", "s", cells[0], cells[1:], [], "mixed")
    record = {"rows": {"atd": {"fine": 41.0, "binary": 75.0}, "average": {"fine": 40.0, "binary": 76.0}}}
    assert line.text(record) == "| sentiment | 41.0 / 75.0 | average 40.0 / 76.0 | mixed |"


def test_runs_of_several_seeds_are_averaged_and_their_commands_lose_the_machine(results, tmp_path, monkeypatch):
    monkeypatch.setattr(results, "RECORDS", tmp_path / "records")
    command = "python run.py data.path=/somewhere/else/t.csv paths.outputs=/elsewhere seed={}"
    runs = [
        write_run(tmp_path / f"{seed}", {"atd": {"accuracy": 40.0 + 2 * seed}}, command.format(seed)) for seed in (0, 1)
    ]
    results.record("mine", runs)
    kept = results.load("mine")
    assert kept["commands"] == ["python run.py data.path=t.csv seed=0", "python run.py data.path=t.csv seed=1"]
    assert kept["rows"]["atd"]["accuracy"] == 41.0
    assert kept["rows"]["atd"]["accuracy_sd"] == pytest.approx(2**0.5)
    assert kept["seconds"] == [62, 62]


def test_tables_are_made_of_the_corpora_that_are_there(tmp_path):
    (tmp_path / "data/parallel/bible").mkdir(parents=True)
    with gzip.open(tmp_path / "data/parallel/bible/en.tsv.gz", "wt") as file:
        file.write("Gen.1.1\tIn the beginning, he said\nExod.1.1\tNow these are\n")
    command = [sys.executable, "docs/tables.py", tmp_path / "tables", "--data", tmp_path / "data"]
    said = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert "blogs.csv: left out" in said and "authors.csv: left out" in said
    made = (tmp_path / "tables/bible.csv").read_text().splitlines()
    assert made == ["text,book", '"In the beginning, he said",Gen', "Now these are,Exod"]
