"""The command `atd`: from a table to a model and its answers, and one line for what can be mended."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import json
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import torch
from small_runs import ROOT, write_reviews

import atd
from atd import cli, table_files
from atd.commands import given_of
from atd.errors import AtdError
from atd.table_files import read_columns

SMALL = ["--K", "12", "--F", "16", "--D", "4", "--epochs", "2", "--min-steps", "0", "--lr", "0.02"]
ROWS = {"text": ["a, b", 'say "hi"\nthere', "c"], "age": ["20", None, "é"]}


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """A folder with a table and a model of it."""
    folder = tmp_path_factory.mktemp("home")
    write_reviews(folder / "reviews.csv")
    fit = ["fit", str(folder / "reviews.csv"), "--attributes", "age", "gender"]
    assert cli.main([*fit, "--out", str(folder / "trained.ckpt"), *SMALL]) == 0
    return folder


@pytest.fixture
def here(home, monkeypatch) -> Path:
    monkeypatch.chdir(home)
    return home


def run(line: str, capsys) -> str:
    capsys.readouterr()
    code = cli.main(shlex.split(line))
    out, err = capsys.readouterr()
    assert code == 0, err
    return out


def test_a_table_becomes_a_model(here, capsys):
    out = run("fit reviews.csv --formula age*gender --out again.ckpt " + " ".join(SMALL), capsys)
    assert out.startswith("again.ckpt: 8 attributes and ") and "on rows held out" in out
    assert atd.load("again.ckpt").columns == {"age": ["20s", "60s"], "gender": ["f", "m"]}


def test_the_command_trains_what_the_estimator_trains(here):
    columns = read_columns("reviews.csv", ["text", "age", "gender"])
    ours = atd.AttributeModel(["age", "gender"], K=12, F=16, D=4, epochs=2, min_steps=0, lr=0.02).fit(columns)
    theirs = atd.load("trained.ckpt").model.state_dict()
    assert all(theirs[name].equal(value) for name, value in ours.model_.model.state_dict().items())


def test_a_model_answers(here, capsys):
    trained = atd.load("trained.ckpt")
    out = run("similar trained.ckpt game --given gender=f age=20s -n 3", capsys)
    words = [word for word, _ in trained.most_similar("game", {"gender": "f", "age": "20s"}, n=3)]
    assert [line.split("\t")[0] for line in out.splitlines()] == words
    out = run("compare trained.ckpt game gender=f age=60s -n 4", capsys)
    assert [line.split("\t")[0] for line in out.splitlines()] == ["both", "only gender=f", "only age=60s"]
    out = run("generate trained.ckpt --given '0.5*age:20s + 0.5*age:60s' --words 7 --seed 3 -n 2", capsys)
    assert out.splitlines()[1] == trained.generate("0.5*age:20s + 0.5*age:60s", words=7, seed=4)


def test_texts_become_vectors_and_values(here, capsys):
    Path("lines.txt").write_text("the garden was good .\n\nthe phone was bad .\n")
    x_nD = atd.load("trained.ckpt").encode(["the garden was good .", "the phone was bad ."])
    header, *rows = csv.reader(run("encode trained.ckpt lines.txt", capsys).splitlines())
    assert header == ["x0", "x1", "x2", "x3"] and np.allclose(np.array(rows, float), x_nD, atol=1e-5)
    run("encode trained.ckpt lines.txt --out vectors.npy", capsys)
    assert np.array_equal(np.load("vectors.npy"), x_nD)
    run("predict trained.ckpt reviews.csv --column age --out values.csv", capsys)
    with open("values.csv", newline="") as file:
        found = [row["value"] for row in csv.DictReader(file)]
    assert found == atd.load("trained.ckpt").predict(read_columns("reviews.csv", ["text"])["text"], "age").tolist()


@pytest.mark.parametrize("module", ["export", "card", "effects"])
def test_what_other_modules_do(module, here, capsys):
    line = {
        "export": "export trained.ckpt words.txt --given gender=f",
        "card": "card trained.ckpt",
        "effects": "effects trained.ckpt reviews.csv --column age -n 3",
    }[module]
    if importlib.util.find_spec(f"atd.{module}") is None:
        assert cli.main(shlex.split(line)) == 1
        assert capsys.readouterr().err == f"error: this needs atd.{module}, which is not installed\n"
        return
    assert run(line, capsys)


def test_rows_join_a_trained_model(here, capsys):
    assert "attributes and" in run("fit reviews.csv --init-from trained.ckpt --out joined.ckpt --epochs 1", capsys)
    old, joined = (atd.load(here / name) for name in ("trained.ckpt", "joined.ckpt"))
    n = len(old.vocabulary)
    assert joined.attributes == old.attributes
    assert torch.equal(joined.model.W_fv[:n], old.model.W_fv)


def test_the_explorer_is_the_platforms(here, capsys, monkeypatch):
    asked: list[list[str]] = []
    monkeypatch.setattr(subprocess, "call", lambda words: asked.append(words) or 0)
    assert cli.main(["explore", "trained.ckpt"]) == 0
    assert asked[0][1:] == [str(ROOT / "run.py"), "task=explore", f'checkpoint="{here / "trained.ckpt"}"']
    monkeypatch.setattr("atd.commands.__file__", str(here / "atd" / "commands.py"))
    assert cli.main(["explore", "trained.ckpt"]) == 1
    assert capsys.readouterr().err.startswith("error: the explorer is part of the platform")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("similar trained.ckpt gamee", "the word 'gamee' is not in the vocabulary"),
        ("similar nowhere game", "nowhere: no such file or folder"),
        ("similar trained.ckpt game --given age=20s m", "--given m: of several, each is a column and its value"),
        ("compare trained.ckpt game gender=f age=99", "column 'age' has no value '99'"),
        ("predict trained.ckpt reviews.csv", "there is no column None; the columns are age, gender"),
        ("predict trained.ckpt reviews.csv --text body", "reviews.csv: no column 'body'; the columns are text, age"),
        ("effects trained.ckpt reviews.csv --column text", "'text' is no column of names of this model"),
        ("fit none.csv --attributes age --out x.ckpt", "none.csv: no such file"),
        ("fit reviews.csv --out x.ckpt", "say what describes the texts: --attributes age gender, or --formula"),
        ("fit reviews.csv --init-from none.ckpt --out x.ckpt", "none.ckpt: no such file or folder"),
        ("fit reviews.csv --attributes age --out x.ckpt --epochs 0", "epochs=0: must be a whole number, 1 or more"),
        ("card trained.ckpt --out no/such/folder", "no/such/folder: No such file or directory"),
    ],
)
def test_what_can_be_mended_is_one_line(line, says, here, capsys):
    if line.startswith("card") and importlib.util.find_spec("atd.card") is None:
        pytest.skip("no card yet")
    capsys.readouterr()
    assert cli.main(shlex.split(line)) == 1
    out, err = capsys.readouterr()
    assert err.startswith(f"error: {says}") and err.count("\n") == 1 and not out


@pytest.mark.parametrize("line", ["", "fit reviews.csv", "similar", "sing", "fit t --attributes a --formula b"])
def test_what_cannot_be_asked_is_one_line(line, capsys):
    with pytest.raises(SystemExit) as exit:
        cli.main(shlex.split(line))
    err = capsys.readouterr().err
    assert exit.value.code == 1 and err.startswith("error: ") and err.count("\n") == 1


@pytest.mark.parametrize("command", cli.ABOUT)
def test_every_command_shows_an_example_that_it_takes(command, capsys):
    with pytest.raises(SystemExit) as exit:
        cli.main([command, "--help"])
    assert exit.value.code == 0 and "example: atd" in capsys.readouterr().out
    program, *words = shlex.split(cli.EXAMPLES[command])
    assert program == "atd" and cli.parser().parse_args(words).command == command


def test_help_does_not_pay_for_pytorch():
    code = "import sys; from atd.cli import parser; parser(); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"atd": "atd.cli:program"}


def written(folder: Path) -> list[Path]:
    """The same rows in every kind of file."""
    table = pa.table(ROWS)
    for name, sign in (("t.csv", ","), ("t.tsv", "\t")):
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter=sign).writerows([ROWS, *zip(*ROWS.values(), strict=True)])
    with gzip.open(folder / "zipped.csv.gz", "wb") as file:
        file.write("\ufeff".encode() + (folder / "t.csv").read_bytes())
    rows = [dict(zip(ROWS, row, strict=True)) for row in zip(*ROWS.values(), strict=True)]
    (folder / "t.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    pyarrow.parquet.write_table(table, folder / "t.parquet")
    pyarrow.feather.write_feather(table, folder / "t.feather")
    return sorted(folder.iterdir())


@pytest.mark.parametrize("arrow", [True, False])
def test_a_table_is_the_same_in_every_file_and_by_every_reader(arrow, tmp_path, monkeypatch):
    if not arrow:
        monkeypatch.setattr(table_files, "find_spec", lambda name: None)
    files = written(tmp_path)
    assert len(files) == 6
    for path in files:
        assert read_columns(path, ["text", "age"]) == ROWS, path
        with pytest.raises(AtdError, match=r"no column 'b'; the columns are text, age"):
            read_columns(path, ["b"])
    (tmp_path / "t.xyz").write_text("")
    with pytest.raises(AtdError, match=r"a table is a file of type csv, tsv, jsonl"):
        read_columns(tmp_path / "t.xyz", ["text"])
    for text, says in (("text\n", "no rows"), ("text,age\na,b,c\n", "(?i)row|column"), ("text\n\xff", "not readable")):
        (tmp_path / "bad.csv").write_bytes(text.encode("latin-1"))
        with pytest.raises(AtdError, match=says):
            read_columns(tmp_path / "bad.csv", ["text"])


def test_what_is_given():
    assert given_of(None) is None and given_of(["0.5*a + 0.5*b"]) == "0.5*a + 0.5*b"
    assert given_of(["gender=f", "age=20s"]) == {"gender": "f", "age": "20s"}
