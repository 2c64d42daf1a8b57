"""task=generation and task=madlibs on the sample books, small."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SMALL = ["data=gutenberg_sample", "model.vectors=null", "model.K=24", "model.F=24", "model.D=8", "optim.lr=0.01"]
SMALL += ["optim.samples=300", "data.batch_size=512", "trainer.threads=1", "logger=none"]


def run(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "run.py", *SMALL, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=500)


@pytest.fixture(scope="module")
def generation(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("generation") / "run"
    small = ["task.samples=20", "task.matrix_words=500", "trainer.max_epochs=3"]
    done = run("task=generation", f"hydra.run.dir={out}", *small)
    assert done.returncode == 0, done.stderr[-3000:]
    return out


def test_style_is_learned(generation):
    rows = json.loads((generation / "metrics.json").read_text())["rows"]
    assert rows["atd"]["perplexity"] < 0.95 * rows["lbl"]["perplexity"]
    assert rows["atd"]["own_book_wins"] >= 6
    assert rows["atd"]["style_accuracy"] > 3 * rows["chance"]["style_accuracy"]
    assert rows["atd"]["mixes_between"] > 80
    assert rows["inferred"]["style_accuracy"] > 2 * rows["chance"]["style_accuracy"]
    assert rows["real text"]["style_accuracy"] > rows["atd"]["style_accuracy"] - 10


def test_a_checkpoint_writes_as_asked(generation, tmp_path):
    (tmp_path / "letter.txt").write_text("The captain stood upon the deck and the ship ran before the wind. " * 10)
    mix = 'task.mix=["0.5*scroll-ashem + 0.5*harland-narwhal"]'
    small = ["task.measure=false", "task.start=and the captain"]
    small.append(f"task.like={tmp_path}/letter.txt")
    done = run("task=generation", f"checkpoint={generation}", mix, *small, f"hydra.run.dir={tmp_path}/run")
    assert done.returncode == 0, done.stderr[-3000:]
    report = (tmp_path / "run" / "report.html").read_text()
    assert "0.5*scroll-ashem + 0.5*harland-narwhal" in report and "letter.txt" in report
    assert report.count("and the captain ") >= 2 and done.stdout.count("and the captain ") == 2


def test_a_checkpoint_is_measured_without_training(generation, tmp_path):
    small = ["task.samples=2", "task.matrix_words=100"]
    done = run("task=generation", f"checkpoint={generation}", *small, f"hydra.run.dir={tmp_path}/run")
    assert done.returncode == 0, done.stderr[-3000:]
    again, before = (json.loads((d / "metrics.json").read_text())["rows"] for d in (tmp_path / "run", generation))
    assert again["atd"]["perplexity"] == pytest.approx(before["atd"]["perplexity"], rel=1e-3)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (['task.mix=["0.5*scroll-ashen"]'], "no attribute is called 'scroll-ashen'; did you mean scroll-ashem"),
        (["task.like=/nowhere.txt"], "task.like=/nowhere.txt: not readable"),
        (["task.top_p=2"], "task.top_p=2: must be"),
    ],
)
def test_mistakes_are_named(generation, tmp_path, arguments, says):
    small = ["task.measure=false", f"hydra.run.dir={tmp_path}/run"]
    done = run("task=generation", f"checkpoint={generation}", *small, *arguments)
    assert done.returncode == 2 and done.stderr.strip().startswith(f"error: {says}"), done.stderr


def test_tags_are_realised_with_the_gate(tmp_path):
    prompts = "task.prompts=[{start: the ship, tags: [IN, DT, NN]}]"
    done = run("task=madlibs", prompts, "task.sequences=300", "trainer.max_epochs=2", f"hydra.run.dir={tmp_path}/run")
    assert done.returncode == 0, done.stderr[-3000:]
    rows = json.loads((tmp_path / "run" / "metrics.json").read_text())["rows"]
    assert rows["atd"]["tag_accuracy"] > 60 > 40 > rows["ungated"]["tag_accuracy"]
    assert "the ship …" in (tmp_path / "run" / "report.html").read_text()
    done = run("task=madlibs", "task.prompts=[{start: the, tags: [NOUN]}]", f"hydra.run.dir={tmp_path}/second")
    assert done.returncode == 2 and "'NOUN' is no tag of this corpus" in done.stderr
