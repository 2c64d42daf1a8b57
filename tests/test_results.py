"""The results table of the README comes from records of runs, and says nothing that they contradict."""

from __future__ import annotations

import gzip
import importlib
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image
from small_runs import ROOT, checked


@pytest.fixture(scope="module")
def results():
    sys.path.insert(0, str(ROOT / "docs"))
    yield importlib.import_module("results")
    sys.path.remove(str(ROOT / "docs"))


def experiments() -> list:
    """The studies that are a file of conf/experiment."""
    sys.path.insert(0, str(ROOT / "docs"))
    studies = importlib.import_module("studies").STUDIES
    sys.path.remove(str(ROOT / "docs"))
    return [study for study in studies if study.arguments.startswith("experiment=")]


@pytest.fixture(scope="module")
def claims(results):
    return importlib.import_module("claims")


def write_run(folder: Path, rows: dict, command: str = "python run.py") -> Path:
    folder.mkdir()
    (folder / "metrics.json").write_text(json.dumps({"task": "attributes", "seconds": 61.7, "rows": rows}))
    (folder / "versions.json").write_text(json.dumps({"command": command, "revision": "abc1234"}))
    return folder


def test_every_page_is_what_the_records_give(results):
    for path in (results.README, results.SPEED):
        assert results.BLOCK.search(path.read_text(encoding="utf-8"))
    results.check()


def test_the_readme_says_no_other_number(results):
    """Numbers with decimals outside of the table, code and versions stand in docs/results.md."""
    readme = results.BLOCK.sub("", results.README.read_text(encoding="utf-8"))
    prose = re.sub(r"```.*?```|`[^`]*`|\(.*?\)", "", readme, flags=re.S)
    known = results.PAGE.read_text(encoding="utf-8")
    assert [n for n in re.findall(r"(?<![\d.])\d+\.\d+(?![\d.])", prose) if n not in known and n != "3.11"] == []


def test_every_record_is_used_and_names_no_machine(results, claims):
    used = {line.record for line in claims.LINES} | {section.record for section in results.SECTIONS}
    used.add(results.TIMED)
    for path in results.RECORDS.glob("*.json"):
        assert path.stem in used
        record = json.loads(path.read_text(encoding="utf-8"))
        assert record["commands"] and not any("=/" in command for command in record["commands"])
        assert all((results.RECORDS / one["figure"]).is_file() for one in record.get("figures", []))


def test_every_experiment_and_every_section_has_a_study(results):
    studies = importlib.import_module("studies").STUDIES
    experiments = {path.stem for path in (ROOT / "conf/experiment").glob("*.yaml")}
    named = {word.partition("=")[2] for study in studies for word in study.arguments.split()
             if word.startswith("experiment=")}  # fmt: skip
    assert named == experiments - {"crosslingual_best"}  # its rows are in the study of experiment=crosslingual
    assert {section.record for section in results.SECTIONS} <= {study.record for study in studies}
    for study in studies:
        for command in study.commands():
            checked(shlex.split(command.replace("{tables}", "tables")))


def test_every_record_was_made_by_the_command_of_its_study(results):
    """But for where the run lies, the model that it shows, and whom else it tells of it."""
    for study in importlib.import_module("studies").STUDIES:
        asked = [shlex.split(command.replace("{tables}", "outputs/reproduce/tables")) for command in study.commands()]
        made = [shlex.split(command)[2:] for command in results.load(study.record)["commands"]]
        beside = ("checkpoint=outputs/reproduce/", "logger=")
        assert asked == [[word for word in words if not word.startswith(beside)] for words in made], study.record


@pytest.mark.parametrize("study", experiments(), ids=lambda study: study.record)
def test_an_experiment_opens_with_its_time_and_with_what_was_found(results, study):
    """Of its comment every number with decimals is in the record or on the page, and its minutes are about those."""
    name = study.arguments.split()[0].partition("=")[2]
    lines = (ROOT / f"conf/experiment/{name}.yaml").read_text(encoding="utf-8").splitlines()
    said = " ".join(line.lstrip("# ") for line in lines if line.startswith("#"))
    record = results.load(study.record)
    values = {f"{v:.{digits}f}" for row in record["rows"].values() for v in row.values() for digits in (1, 2, 3)}
    page = set(re.findall(r"\d+\.\d+", results.PAGE.read_text(encoding="utf-8")))
    assert set(re.findall(r"(?<![\w.])\d+\.\d+(?![\w.])", said)) - values - page == set()
    minutes, took = int(re.search(r"(\d+) min\b", said)[1]), sum(record["seconds"]) / len(record["seconds"]) / 60
    assert took / 1.5 - 2 <= minutes <= took * 1.5 + 2, f"{took:.0f} min"


@pytest.fixture
def reproduce(results, tmp_path, monkeypatch):
    """docs/reproduce.py with two studies, whose runs are played, and pages in a folder of their own."""
    module = importlib.import_module("reproduce")
    started: list[list[str]] = []

    def play(words, **_):
        started.append(words[2:])
        place = next(Path(word.partition("=")[2]) for word in words if word.startswith(("hydra.run.dir=", "resume=")))
        place.mkdir(parents=True, exist_ok=True)
        (place / "config.yaml").touch()
        failed = "bad=1" in words or (place.name == "stopped-0" and not words[2].startswith("resume="))
        if not failed:
            (place / "metrics.json").write_text(
                json.dumps({"task": "x", "seconds": 1.0, "rows": {"atd": {"loss": 1.0}}})
            )
            (place / "versions.json").write_text(json.dumps({"command": "python run.py", "revision": "abc"}))
        return subprocess.CompletedProcess(words, int(failed))

    (tmp_path / "runs/tables").mkdir(parents=True)
    monkeypatch.setattr(module.subprocess, "run", play)
    monkeypatch.setattr(module.results, "RECORDS", tmp_path / "records")
    monkeypatch.setattr(module.results, "write", lambda: None)
    return module, started, tmp_path / "runs"


def test_a_study_is_kept_once_finished_and_goes_on_after_a_stop(reproduce, monkeypatch, capsys):
    module, started, folder = reproduce
    study = importlib.import_module("studies").Study
    studies = (study("whole", "task=x", seeds=(0, 1)), study("stopped", "task=y"), study("bad", "bad=1"))
    monkeypatch.setattr(module, "STUDIES", studies)
    assert module.reproduce(studies, folder) == 2
    assert "left out, each for the reason given above: stopped, bad" in capsys.readouterr().err
    assert [words[:2] for words in started[:2]] == [["task=x", "seed=0"], ["task=x", "seed=1"]]
    del started[:]
    assert module.reproduce(studies[:2], folder) == 0
    assert started == [[f"resume={folder / 'stopped-0'}"]]
    assert {path.stem for path in (folder.parent / "records").iterdir()} == {"whole", "stopped"}
    assert len((folder / "stopped-0" / module.results.SPENT).read_text().split()) == 2  # before the stop, and after it


def test_what_a_report_shows_is_kept_with_the_record(results, tmp_path, monkeypatch):
    monkeypatch.setattr(results, "RECORDS", tmp_path / "records")
    run = write_run(tmp_path / "run", {"atd": {"loss": 1.0}})
    tables = [
        {"title": "The king …", "header": ["DT"], "rows": [["a|b"]], "note": "A note."},
        {"title": "Other", "header": [], "rows": []},
        {"title": "Map", "figure": "figures/words_months.svg", "caption": "Months."},
    ]
    (run / "tables.json").write_text(json.dumps(tables))
    (run / "figures").mkdir()
    Image.new("RGB", (3, 2), "red").save(run / "figures/words_months.png")
    results.record("mine", [run], ["* …"], ["words_*"])
    with Image.open(tmp_path / "records/mine-words_months.png") as kept:
        assert kept.size == (3, 2) and kept.convert("RGB").getpixel((0, 0)) == (255, 0, 0)
    section = importlib.import_module("sections").Section("Title", "Says.", "mine", {"loss": "loss"})
    shown = section.text(results.load("mine"))
    assert "| atd | 1.0 |" in shown and "| a\\|b |" in shown and "![Map](results/mine-words_months.png)" in shown
    assert "Other" not in shown and "Made by `python run.py`, 1 minute." in shown
    assert "| row | loss |\n| --- | ---: |" in shown and "| DT |\n| --- |" in shown


def test_a_claim_that_its_control_beats_is_refused(claims):
    here = claims.Cell("atd", ("perplexity",))
    control = claims.Cell("lbl", ("perplexity",), "log-bilinear")
    line = claims.Line("books", "books", here, [control], ["log-bilinear"], "so", lower=True)
    good = {"rows": {"atd": {"perplexity": 80.25, "perplexity_sd": 0.04}, "lbl": {"perplexity": 90.0}}}
    assert line.text(good) == "| books | 80.2 ± 0.0 | log-bilinear 90.0 | so |"
    for theirs in (80.25, 79.0):
        with pytest.raises(SystemExit, match="says that it beats log-bilinear"):
            line.text({"rows": {**good["rows"], "lbl": {"perplexity": theirs}}})


@pytest.mark.parametrize(("spread", "beaten"), [(0.1, True), (1.0, False)])
def test_what_differs_by_less_than_two_standard_errors_is_level(claims, spread, beaten):
    cells = [claims.Cell(row, ("accuracy",), row) for row in ("atd", "lexicon")]
    line = claims.Line("words", "w", cells[0], cells[1:], [], "so")
    rows = {"atd": {"accuracy": 51.0, "accuracy_sd": spread}, "lexicon": {"accuracy": 50.0, "accuracy_sd": spread}}
    assert line.beats({"rows": rows}, cells[1]) is beaten


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
    (runs[1] / results.SPENT).write_text("100\n20\n")
    results.record("mine", runs)
    kept = results.load("mine")
    assert kept["commands"] == ["python run.py data.path=t.csv seed=0", "python run.py data.path=t.csv seed=1"]
    assert results.shortened("run.py checkpoint=/a/outputs/reproduce/x-0") == "run.py checkpoint=outputs/reproduce/x-0"
    assert kept["rows"]["atd"]["accuracy"] == 41.0
    assert kept["rows"]["atd"]["accuracy_sd"] == pytest.approx(2**0.5)
    assert kept["seconds"] == [62, 120]


def test_tables_are_made_of_the_corpora_that_are_there(tmp_path):
    (tmp_path / "data/parallel/bible").mkdir(parents=True)
    with gzip.open(tmp_path / "data/parallel/bible/en.tsv.gz", "wt") as file:
        file.write("Gen.1.1\tIn the beginning, he said\nExod.1.1\tNow these are\n")
    command = [sys.executable, "docs/tables.py", tmp_path / "tables", "--data", tmp_path / "data"]
    said = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert "blogs.csv: left out" in said and "authors.csv: left out" in said
    made = (tmp_path / "tables/bible.csv").read_text().splitlines()
    assert made == ["text,book", '"In the beginning, he said",Gen', "Now these are,Exod"]


def test_the_table_of_timings_names_machine_and_versions(results):
    timings = importlib.import_module("timings").timings
    spread = {"ratio": 1.0, "ratio_low": 0.92, "ratio_high": 1.08, "target": 1.5}
    growth = {"ratio": 1.2, "target": 1.05, "at_most": True, "ok": False, "exponent_time": 1.2}
    rows = {"startup": {**spread, "at_most": True, "ok": True, "rival_seconds": 6.6}, "growth_batch": growth}
    rows["neighbours"] = {**spread, "ok": False, "vs_faiss_flat": 1.0, "vs_torch": 2.5}
    about = {
        "commands": ["python run.py task=benchmark"],
        "seconds": [600],
        "machine": "2 cores",
        "versions": ["torch 3"],
    }
    text = timings({**about, "revisions": ["abc"], "rows": rows})
    assert "`python run.py task=benchmark`, 10 minutes on 2 cores." in text and "torch 3; revision abc." in text
    assert "1 of 3 targets are met." in text
    assert "| startup | 1 | 0.92–1.08 | ≤ 1.5 | yes |  |" in text and "| startup |  | rival seconds 6.6 |" in text
    assert "| growth_batch | 1.2 |  | ≤ 1.05 | no |  |" in text and "| growth_batch |  | exponent time 1.2 |" in text
    assert "| neighbours | 1 | 0.92–1.08 | ≥ 1.5 | no | faiss flat |" in text
    assert "| neighbours | faiss flat 1, torch 2.5 |  |" in text
