"""task=generation and task=madlibs on the sample books, small."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.vocabulary import Vocabulary
from tasks.engine import job
from tasks.madlibs.prompts import paper_prompts
from tests.program import run_py
from tests.small_runs import composed

SMALL = ["data=gutenberg_sample", "model.vectors=null", "model.K=24", "model.F=24", "model.D=8", "optim.lr=0.01"]
SMALL += ["optim.samples=300", "data.batch_size=512", "trainer.threads=1", "logger=none"]


def run(*arguments: str) -> subprocess.CompletedProcess:
    return run_py(*SMALL, *arguments)


def refused(out: Path, *arguments: str) -> str:
    """What the same command is refused with, in this process: starting another takes longer."""
    with pytest.raises(AtdError) as error:
        job.run(composed(*SMALL, *arguments), out)
    return str(error.value)


@pytest.fixture(scope="module")
def generation(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("generation") / "run"
    small = ["task.samples=20", "task.matrix_words=500", "task.temperatures=[0.6,1]", "trainer.max_epochs=3"]
    small += ["data.batch_size=1024", "optim.lr=0.014"]
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


def test_style_stands_beside_fluency_and_its_controls(generation):
    rows = json.loads((generation / "metrics.json").read_text())["rows"]
    chance = rows["chance"]["style_accuracy"]
    assert rows["real text"]["style_accuracy"] > 5 * chance and rows["real text"]["fluency"] == pytest.approx(100)
    assert rows["real text"]["copied"] == pytest.approx(100)
    for bag in ("own-unigrams", "real text, shuffled"):  # the right words in no order
        assert rows[bag]["style_accuracy"] > 5 * chance
        assert rows[bag]["fluency"] < 0 < rows["atd"]["fluency"] and "style_at_fluency" not in rows[bag]
    assert rows["kneser-ney"]["style_accuracy"] < 2.5 * chance
    assert rows["own-kneser-ney"]["style_accuracy"] > 5 * chance and rows["own-kneser-ney"]["copied"] > 10
    assert "How style is measured" in (generation / "report.html").read_text()


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
    command = ["task=generation", f"checkpoint={generation}", "task.measure=false", *arguments]
    assert refused(tmp_path / "run", *command).startswith(says)


def test_a_style_needs_one_attribute_per_text(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("text,a,b\n" + 60 * "the ship sees the wave .,x,y\nthe cow sees the hay .,z,w\n")
    composed = ["data=table", f"data.path={table}", "data.attributes=[a,b]"]
    for arguments, key in ((["data.attribute=pos"], "data.attribute=pos"), (composed, "data.compose=true")):
        says = refused(tmp_path / "run", "task=generation", *arguments)
        assert says.startswith(f"{key}: task=generation needs one attribute per text")


def test_tags_are_realised_with_the_gate(tmp_path):
    """With the paper's prompts, but for the one whose tags the sample lacks."""
    small = ["task.sequences=300", "trainer.max_epochs=2"]
    done = run("task=madlibs", *small, f"hydra.run.dir={tmp_path}/run")
    assert done.returncode == 0, done.stderr[-3000:]
    rows = json.loads((tmp_path / "run" / "metrics.json").read_text())["rows"]
    for metric in ("tag_accuracy", "tag_accuracy_setter"):
        assert rows["atd"][metric] > 60 > 40 > rows["ungated"][metric]
        assert rows["words-of-tag"][metric] > 60 and rows["kneser-ney-attributes"][metric] > 60
    assert set(rows["ungated"]) == {"perplexity", "tag_accuracy", "tag_accuracy_setter", "fluency"}
    assert rows["real words"]["fluency"] == pytest.approx(100)
    assert rows["words-of-tag"]["fluency"] < min(rows[name]["fluency"] for name in ("atd", "kneser-ney-attributes"))
    assert {"judge", "setter"} <= set(rows)
    report = (tmp_path / "run" / "report.html").read_text()
    assert "the meaning of life is …" in report and "my greatest accomplishment" not in report
    assert "prompt left out: 'my greatest accomplishment is'; this corpus has no word tagged JJS" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("task.prompts=[{start: the, tags: [NOUN]}]", "task.prompts: 'NOUN' is no tag of this corpus"),
        ("task.prompts=[{start: the, tags: []}]", "task.prompts: 'the' has no tags; give some of"),
        ("task.prompts=[{start: the}]", "task.prompts.tags: missing"),
        ("data.attribute=book", "data.attribute=book: task=madlibs needs parts of speech"),
        ("data.tagger.half=null", "data.tagger.half=null: leaves no sentences for another tagger"),
        ("data.tagger.epochs=0", "data.tagger.epochs=0: must be a whole number, 1 or more"),
    ],
)
def test_mistakes_of_madlibs_are_named(tmp_path, arguments, says):
    assert refused(tmp_path / "run", "task=madlibs", arguments).startswith(says)


class Few:
    """Held-out text of three tags, and neither JJ nor IN among them."""

    def __init__(self) -> None:
        self.name = "few"
        self.attributes = ["DT", "NN", "VBD"]
        self.vocabulary = Vocabulary.from_counts({"the": 9, "ship": 5, "sank": 4})
        words = self.vocabulary.encode(["the", "ship", "sank"] * 10)
        tags = np.tile(np.arange(3, dtype=np.int32), 10)
        self.encoded = {"test": EncodedCorpus(words, np.array([0, 30]), tags, per_token=True)}


def test_a_corpus_without_the_papers_tags_makes_its_own_prompts(capsys):
    prompts = paper_prompts(Few(), T=2)
    assert capsys.readouterr().out.count("prompt left out") == 3
    assert {tuple(prompt.tags) for prompt in prompts} == {("DT", "NN"), ("NN", "VBD"), ("VBD", "DT")}
    assert prompts[0].start.split() in (["sank", "the", "ship", "sank"], ["the", "ship", "sank", "the"])
