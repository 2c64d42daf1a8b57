"""run.py as a user runs it: the tour recovers what the sample books hide, and leaves everything."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import small_runs
import torch
from small_runs import finite_metric, run_small

from atd.errors import AtdError
from atd.models import load
from datamodules.sample import book_groups, polysemous_words, similar_books
from tests.program import run_py

ROOT = Path(__file__).parent.parent
SMALL = [
    "model.K=24",
    "model.F=24",
    "model.D=8",
    "model.dropout=0.05",
    "optim.samples=300",
    "optim.lr=0.01",
    "optim.decay=0.2",
]
SMALL += ["trainer.threads=1", "trainer.max_epochs=4", "trainer.min_steps=0", "trainer.checkpoint_every=7"]


@pytest.fixture(scope="module")
def tour(tmp_path_factory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("tour") / "run"
    command = [sys.executable, "run.py", f"hydra.run.dir={out}", *SMALL]
    environment = os.environ | {"MPLCONFIGDIR": str(out.parent / "fonts")}  # none listed yet, as on a new machine
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr[-3000:]
    return out, done.stdout


def test_the_screen_has_nothing_of_other_libraries(tour):
    assert list((tour[0].parent / "fonts").iterdir()) and "[INFO]" not in tour[1]


def test_a_python_without_the_platform_is_told_of_the_virtualenv():
    done = subprocess.run([sys.executable, "-S", "run.py"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and re.fullmatch(r"error: .*`make run`.*activate.*\n", done.stderr), done.stderr


def test_the_gate_beats_its_baselines(tour):
    rows = json.loads((tour[0] / "metrics.json").read_text())["rows"]
    atd, lbl, plain = (rows[name]["perplexity"] for name in ("atd", "lbl", "no-attributes"))
    assert atd < 0.95 * lbl and atd < 0.95 * plain, rows
    assert atd < rows["kneser-ney"]["perplexity"]
    assert rows["no-attributes"]["above_atd_low"] > 0


def books_beside_their_twin(x_AD: torch.Tensor, names: list[str]) -> int:
    x = torch.nn.functional.normalize(x_AD.detach(), dim=1)
    nearest = (x @ x.T - 2 * torch.eye(len(x))).argmax(1).tolist()
    twin = {a: b for pair in similar_books() for a, b in (pair, pair[::-1])}
    return sum(twin[names[i]] == names[j] for i, j in enumerate(nearest))


def test_books_by_one_author_are_nearest(tour):
    trained = load(tour[0])
    enough = 0.75 * len(trained.attributes)
    assert books_beside_their_twin(trained.model.vectors(), trained.attributes) >= enough


def test_books_whose_vectors_never_met_the_text_are_nearest_by_chance_only(tour):
    trained = load(tour[0])
    found = []
    torch.manual_seed(0)
    for _ in range(100):
        trained.model.attributes.reset()
        found.append(books_beside_their_twin(trained.model.vectors(), trained.attributes))
    assert sum(found) / len(found) < 0.25 * len(trained.attributes), found


def test_planted_words_keep_the_company_of_their_book(tour):
    """Mean cosine of a planted word to the words it goes with in a book, above that to its company elsewhere."""
    trained = load(tour[0])
    groups = book_groups()
    own, other = [], []
    for book, x_D in zip(trained.attributes, trained.model.vectors().detach(), strict=True):
        E = torch.nn.functional.normalize(trained.model.embeddings(x_D).detach(), dim=1)
        for word, companies in polysemous_words().items():
            for group, company in companies.items():
                ids = [trained.vocabulary.index[w] for w in company if w in trained.vocabulary]
                if groups[book] in companies and ids and word in trained.vocabulary:
                    cosine = float((E[ids] @ E[trained.vocabulary.index[word]]).mean())
                    (own if group == groups[book] else other).append(cosine)
    gap = sum(own) / len(own) - sum(other) / len(other)
    assert gap > 0.05, gap


def test_a_run_leaves_everything(tour):
    out, stdout = tour
    names = ("config.yaml", "metrics.json", "report.html", "versions.json", "checkpoints/atd/best.ckpt")
    for name in (*names, "figures/attribute_map.png", "figures/learning_curves.png", "csv/atd/metrics.csv"):
        assert (out / name).stat().st_size > 0, name
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["primary_metric"] == "atd/perplexity" and metrics["value"] == metrics["rows"]["atd"]["perplexity"]
    versions = json.loads((out / "versions.json").read_text())
    assert versions["seed"] == "0" and "torch 2.13" in versions["versions"] and versions["revision"]
    assert stdout.splitlines()[-1] == f"report: {out}/report.html"
    assert "kneser-ney" in stdout and "lbl" in stdout


def test_resume_takes_no_other_setting(tour):
    done = run_py(f"resume={tour[0]}", "model.F=3")
    assert done.returncode == 2 and "model.F=3 cannot be set with it" in done.stderr


def test_a_damaged_checkpoint_is_one_clear_line(tmp_path):
    (tmp_path / "best.ckpt").write_bytes(b"not a checkpoint")
    with pytest.raises(AtdError, match=r"best\.ckpt: the checkpoint is damaged \(File is not a zip file\)"):
        load(tmp_path)
    with pytest.raises(AtdError, match="no such file"):
        load(tmp_path / "nowhere")


NAMES = [
    "-1",
    "1",
    "$x_$",
    " ",
    "x[/red]y",
    "2*x",
    "x",
    "a+b",
    "=",
    "a:b",
    "<script>",
    "a b",
    "a  b",
    "n" * 300,
    "$\\frac{$",
]


def test_no_name_loses_a_finished_run(tmp_path, capsys):
    """Formulas, markup, arithmetic and blanks, as values, columns and folders: report and metrics are there."""
    table = tmp_path / "names.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["text", "$c_$", "kind[/red]"])
        for i in range(20 * len(NAMES)):
            words = f"the {'abcdefghijklmno'[i % len(NAMES)] * 3} was {('good', 'bad')[i // 7 % 2]} ."
            out.writerow([words, NAMES[i % len(NAMES)], ("p[/]", "$q")[i // 3 % 2]])
    of_table = ["data=table", f"data.path={table}", "data.attributes=['$c_$','kind[/red]']", "data.min_count=1"]
    folder = tmp_path / "x[/red]y"
    with small_runs.small_world():
        run_small([*of_table, "task.a=-1", "task.b=' '"], folder)
        assert finite_metric(folder)  # and every picture was drawn
    html_text = (folder / "report.html").read_text(encoding="utf-8")
    assert "<script" not in html_text and "only under -1" in html_text
    shown = capsys.readouterr().out
    assert "Knowing $c_$ and kind[/red] makes" in shown and f"report: {folder}/report.html" in shown
    trained = load(folder)
    for name in NAMES:
        assert np.array_equal(trained.vector({"$c_$": name}), trained.vector(f"$c_$={name}"))
    assert np.array_equal(trained.vector("-1"), trained.vector({"$c_$": "-1"}))
