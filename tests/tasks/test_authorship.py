"""task=authorship: its arithmetic on toys, and a small run on the sample blogs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from small_runs import composed

from atd.errors import AtdError
from atd.lm import LogBilinearLM, MultiplicativeLM
from atd.ragged import Ragged
from atd.settings import read
from tasks.authorship import run
from tasks.authorship.figures import same_age
from tasks.authorship.posts import document_vectors, random_gates, with_unseen
from tasks.authorship.report import CONDITIONED, CONTROLS, UNCONDITIONED, verdict
from tasks.authorship.settings import Settings
from tasks.learning.corpora import open_corpus
from tests.program import run_py

ROOT = Path(__file__).parent.parent.parent
FAST = {"epochs": 3, "batch_size": 32, "lr": 10.0, "damping": 0.012, "margin": 0.0, "l2": 0.0}


def settings(**changes: Any) -> Settings:
    """Those of conf/task/authorship.yaml, some of them changed."""
    plain: Any = OmegaConf.to_container(OmegaConf.load(ROOT / "conf/task/authorship.yaml").task)
    return read(Settings, plain | changes, "task")


SETTINGS = settings(classifier=FAST, predictor=FAST, min_df=1, dense=1.0, weights="log", crossfit=3, workers=1)


def models() -> tuple[MultiplicativeLM, LogBilinearLM]:
    torch.manual_seed(0)
    atd, lbl = MultiplicativeLM(V=12, K=5, D=4, F=6, N=2, A=3), LogBilinearLM(12, 5, 2)
    torch.nn.init.normal_(atd.C, std=0.5)
    return atd, lbl


def test_documents_are_unit_sums_of_the_three_kinds_of_word_vectors():
    atd, lbl = models()
    texts = Ragged(np.array([3, 4, 0, 4, 7, 8]), np.array([0, 4, 6]))
    x_AD, own = atd.vectors().detach(), np.array([2, 0])
    made = document_vectors(atd, lbl, texts, x_AD, own, seed=0)
    assert list(made) == ["lbl", "unconditioned", "conditioned", "random-gate", "random-vector"]
    x = x_AD[own]
    tables = {"lbl": [lbl.R] * 2, "unconditioned": [atd.unconditional()] * 2}
    tables["conditioned"] = [atd.conditional(x[0]), atd.conditional(x[1])]
    for name, (first, second) in tables.items():
        sums = torch.stack([first[[3, 4, 4]].sum(0), second[[7, 8]].sum(0)])  # the unknown word 0 is left out
        np.testing.assert_allclose(made[name], torch.nn.functional.normalize(sums).detach(), atol=1e-6)


def test_controls_know_the_tuple_and_nothing_of_what_it_means():
    """Posts of one tuple share random gate and vector; the gates are the model's own numbers, factor by factor."""
    gate_AF = torch.arange(50.0).view(10, 5)
    dealt = random_gates(gate_AF, torch.Generator().manual_seed(0))
    assert torch.equal(dealt.sort(0).values, gate_AF) and (dealt != gate_AF).float().mean() > 0.7
    assert (dealt.argsort(0)[:, :1] != dealt.argsort(0)).any()  # no tuple takes the whole gate of another
    atd, lbl = models()
    texts = Ragged(np.array([3, 4, 3, 4, 3, 4]), np.array([0, 2, 4, 6]))
    made = document_vectors(atd, lbl, texts, atd.vectors().detach(), np.array([1, 1, 2]), seed=0)
    for name in ("random-gate", "random-vector"):
        np.testing.assert_array_equal(made[name][0], made[name][1])
        assert not np.allclose(made[name][1], made[name][2])


@pytest.mark.parametrize(("control", "words"), [(69.0, "tfidf+random-gate. So the gain is the tuple's identity"),
                                                (55.0, "their gain is more than the tuple's identity")])  # fmt: skip
def test_the_report_says_whose_gain_it_is(control, words):
    noise = np.array([-0.3, 0.1, 0.2])
    scores = {CONDITIONED: 57 + noise, UNCONDITIONED: 52 - noise, **{row: 54 + noise for row in CONTROLS}}
    scores["tfidf+random-gate"] = control + noise
    said = " ".join(verdict(scores))
    assert words in said and "57.0 %, unconditioned ones 52.0 (+5.0 points" in said and f"at random: {control}" in said


def test_a_tuple_nobody_trained_on_takes_the_mean_of_its_kind():
    x = torch.tensor([[1.0], [3.0], [10.0]])
    names, vectors = with_unseen(["f/10/arts", "f/10/law", "m/30/law"], ["f/10/biotech", "m/30/law", "f/20/x"], x)
    assert names[3:] == ["f/10/biotech", "f/20/x"]
    assert vectors[3:, 0].tolist() == [2.0, pytest.approx(14 / 3)]


@pytest.mark.parametrize("parts", [[], ["experiment"], ["composition", "mix"]])
def test_parts_that_there_are_not(parts):
    with pytest.raises(AtdError, match=r"task.parts=.*: must be a list of some of experiments, inferred, likelihood"):
        settings(parts=parts)


def test_composed_vectors_have_a_part_of_their_own(tmp_path):
    cfg = OmegaConf.create({"task": {}, "data": {"compose": True}})
    cfg.task = OmegaConf.load(ROOT / "conf/task/authorship.yaml").task
    with pytest.raises(AtdError, match=r"data.compose=true: .*task.parts=\[composition\]"):
        run(cfg, tmp_path)


def test_nearest_age():
    x = np.array([[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9]])
    near, chance = same_age(x, ["f/10/a", "m/10/b", "f/20/a", "m/20/b"])
    assert near == 100 and chance == pytest.approx(100 / 3)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("authorship") / "run"
    small = [
        "data=blogs_sample",
        "model=paper",
        "model.vectors=null",
        "model.K=16",
        "model.F=16",
        "model.D=8",
        "optim.lr=0.01",
    ]
    small += ["optim.samples=200", "trainer.threads=1", "logger=none", "trainer.max_epochs=2", "task.folds=3"]
    small += ["task.workers=1", "task.texts=20", "task.text_words=30", "task.leave_out=3", "task.components=[1,2]"]
    small += ["task.parts=[experiments,inferred,likelihood,composition,mixture]", "task.variant_posts=null"]
    done = run_py("task=authorship", *small, f"hydra.run.dir={out}")
    assert done.returncode == 0, done.stderr[-3000:]
    return out


def test_the_sample_blogs_end_to_end(finished):
    metrics = json.loads((finished / "metrics.json").read_text())
    rows = metrics["rows"]
    plain = ["tfidf", "tfidf+lbl", "tfidf+unconditioned", "tfidf+conditioned"]
    plain += ["tfidf+random-gate", "tfidf+random-vector", "tfidf+metadata"]
    inferred = ["tfidf+conditioned-post", "tfidf+conditioned-author", "tfidf+random-inferred", "tfidf+match"]
    for row in [*plain, *(f"{r}+inferred" for r in plain), *inferred]:
        assert 0 <= rows[row]["accuracy"] <= 100 and rows[row]["accuracy_sd"] >= 0
    assert metrics["primary_metric"] == "tfidf+conditioned/accuracy"
    assert rows["tfidf"]["accuracy"] > 3 * 5  # twenty authors
    assert rows["tfidf+metadata"]["accuracy"] > rows["tfidf"]["accuracy"]  # here tuples nearly name their authors
    tuples = metrics["details"]["inferred tuple"]
    assert rows["inferred tuple"]["accuracy"] == pytest.approx(tuples["accuracy"]) and tuples["majority"] > 0
    assert 0 < tuples["calibration_error"] < 100 and 0.001 < tuples["power"] < 10
    assert {"gender", "age", "industry"} <= set(rows["likelihood"])
    assert min(rows["majority"][part] for part in ("gender", "age", "industry")) > 0
    assert rows["atd"]["perplexity"] < rows["lbl"]["perplexity"]
    assert rows["mixture-1"]["perplexity"] < rows["atd"]["perplexity"]  # the same model, trained exactly
    assert rows["mixture-1"]["perplexity_of_posts"] == pytest.approx(rows["mixture-1"]["perplexity"], rel=1e-6)
    assert rows["composed"]["perplexity_unseen"] < rows["tuples"]["perplexity_unseen"]


def test_the_authors_tuples_are_attributes_of_the_model(cache):
    """Else every post would take the mean vector, and conditioning nothing."""
    data = open_corpus(composed("task=authorship", "data=blogs_sample", "model.vectors=null", f"paths.cache={cache}"))
    tuples = data.prolific_posts()["attribute"].to_pylist()
    assert sum(name in data.attributes for name in tuples) > 0.5 * len(tuples)


def test_the_report_holds_the_papers_figures(finished):
    figures = {path.stem for path in (finished / "figures").iterdir()}
    assert {"effect_of_conditional_embeddings", "effect_of_inferred_vectors", "attribute_map"} <= figures
    report = (finished / "report.html").read_text()
    for title in (
        "Is it the tuple, or what was learned of it?",
        "Differences over folds",
        "Does the tuple help where nothing is given at test time?",
        "Nothing given at test time: differences over folds",
        "The tuple, inferred from words",
        "Who would have written this?",
        "Tuples left out",
        "Several vectors per",
    ):
        assert title in report
