"""task=authorship: its arithmetic on toys, leaks, and a small run on the sample blogs."""

from __future__ import annotations

import json
import weakref
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from scipy import sparse
from small_runs import composed

from atd.errors import AtdError
from atd.lm import LogBilinearLM, MultiplicativeLM
from atd.ragged import Ragged
from atd.settings import read
from tasks.authorship import attribution, run
from tasks.authorship.attribution import (
    cross_validate,
    difference,
    interval,
    majority,
    rows_of,
    score_fold,
    side_by_side,
)
from tasks.authorship.figures import same_age
from tasks.authorship.posts import Posts, document_vectors, random_gates, with_unseen
from tasks.authorship.report import CONDITIONED, CONTROLS, UNCONDITIONED, verdict
from tasks.authorship.settings import Settings
from tasks.engine.rows import Outcome, Row, Store, run_rows
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


def toy_posts(n: int = 120, authors: int = 6) -> Posts:
    random = np.random.default_rng(0)
    author = np.arange(n) % authors
    table = random.poisson(0.3 + 1.5 * (random.random((authors, 30)) < 0.2)[author]).astype(np.float32)
    attribute = author // 2  # two authors share each tuple
    x = np.eye(3, 4, dtype=np.float32)
    lbl = random.random((n, 4), np.float32)
    conditioned = (x[attribute] + 0.1 * random.random((n, 4))).astype(np.float32)
    return Posts(sparse.csr_matrix(table), author, attribute, x, {"lbl": lbl, "conditioned": conditioned})


def test_a_fold_scores_every_row():
    posts = toy_posts()
    train, test = np.arange(90), np.arange(90, 120)
    scores = score_fold(posts, train, test, SETTINGS, seed=0)
    assert set(rows_of(posts.vectors)) <= set(scores)
    assert {r for r in scores if r.endswith("+inferred")} == {
        "tfidf+inferred",
        "tfidf+lbl+inferred",
        "tfidf+conditioned+inferred",
        "tfidf+metadata+inferred",
    }
    assert scores["tfidf+metadata"] > scores["tfidf"]
    assert scores["metadata"] == pytest.approx(50)
    assert scores["tfidf+conditioned"] > scores["tfidf"] > 100 / 6
    assert score_fold(posts, train, test, SETTINGS, seed=0) == scores


def test_a_fold_holds_one_classifier_at_a_time(monkeypatch):
    """Each has a weight for every token and author, so two at once would double what a worker needs."""
    fitted: list[weakref.ref] = []

    class Watched(attribution.SoftmaxClassifier):
        def fit(self, X, y):
            if len(set(y)) == 6:  # authors, not the three attributes
                assert all(other() is None for other in fitted)
                fitted.append(weakref.ref(self))
            return super().fit(X, y)

    posts = toy_posts()
    monkeypatch.setattr(attribution, "SoftmaxClassifier", Watched)
    score_fold(posts, np.arange(90), np.arange(90, 120), SETTINGS, seed=0)
    assert len(fitted) == 8


FOLDS = [(np.arange(30, 120), np.arange(30)), (np.arange(90), np.arange(90, 120))]


def test_folds_side_by_side_score_as_one_by_one(tmp_path):
    """Workers get large arrays as read-only maps, so nothing may be changed in place."""
    posts = toy_posts()
    alone = [score_fold(posts, train, test, SETTINGS, 0) for train, test in FOLDS]
    table = posts.counts
    for array in (table.data, table.indices, table.indptr, posts.author, posts.attribute, *posts.vectors.values()):
        array.flags.writeable = False
    assert [score_fold(posts, train, test, SETTINGS, 0) for train, test in FOLDS] == alone
    together = cross_validate(posts, FOLDS, replace(SETTINGS, workers=2), 0, Store(tmp_path))
    for row, scores in together.items():
        assert scores.tolist() == [fold[row] for fold in alone]


def what_a_worker_holds(posts: Posts, number: int) -> Outcome:
    arrays = {"counts": posts.counts.data, "tokens": posts.counts.indices, **posts.vectors}
    return Outcome(facts={name: getattr(array, "filename", None) for name, array in arrays.items()})


def test_workers_map_the_posts_and_do_not_copy_them(tmp_path):
    posts = replace(toy_posts(), counts=sparse.csr_matrix(np.ones((1000, 500), np.float32)))
    posts.vectors = {"lbl": np.zeros((5000, 100), np.float32)}
    rows = [Row("fold", partial(what_a_worker_holds, posts), range(2))]
    first, second = (outcome.facts for outcome in run_rows(rows, Store(tmp_path), workers=2)["fold"])
    assert all(first.values()) and first == second  # each array is one file, for all folds


def test_a_resumed_run_scores_only_the_folds_that_are_missing(tmp_path, monkeypatch):
    new, resumed = Store(tmp_path), Store(tmp_path, resumed=True)
    whole = cross_validate(toy_posts(), FOLDS, SETTINGS, 0, new)
    new.path("fold", 1).unlink()
    scored = []
    monkeypatch.setattr(attribution, "score_fold", lambda *fold: scored.append(fold[2]) or score_fold(*fold))
    again = cross_validate(toy_posts(), FOLDS, SETTINGS, 0, resumed)
    assert [test.tolist() for test in scored] == [list(range(90, 120))]
    assert {row: s.tolist() for row, s in again.items()} == {row: s.tolist() for row, s in whole.items()}
    cross_validate(toy_posts(), FOLDS, SETTINGS, 0, new)
    assert len(scored) == 3  # a new run in an old folder believes nothing it finds there


def test_nothing_of_the_test_posts_reaches_what_is_fitted(monkeypatch):
    """Whatever stands in the test posts, every model and scaling that was fitted stays the same."""
    train, test = np.arange(90), np.arange(90, 120)
    fitted: list[list[np.ndarray]] = []

    class Recorded(attribution.SoftmaxClassifier):
        def fit(self, X, y):
            super().fit(X, y)
            fitted[-1].extend(w.numpy().copy() for w in (self.W_, self.dense_, self.b_))
            return self

    monkeypatch.setattr(attribution, "SoftmaxClassifier", Recorded)
    for spoilt in (False, True):
        fitted.append([])
        posts = toy_posts()
        if spoilt:
            random = np.random.default_rng(1)
            table = posts.counts.toarray()
            table[test] = random.poisson(3.0, table[test].shape)
            posts.counts = sparse.csr_matrix(table)
            posts.author[test], posts.attribute[test] = random.permutation(posts.author[test]), 0
            for vectors in posts.vectors.values():
                vectors[test] *= -7
        score_fold(posts, train, test, SETTINGS, seed=0)
    assert len(fitted[0]) == 3 * (4 + 8)  # predictors (3 parts and all), 8 rows
    for before, after in zip(*fitted, strict=True):
        np.testing.assert_array_equal(before, after)


def test_predicted_attributes_of_training_posts_come_from_other_posts():
    """With labels that nothing predicts, a predictor that saw a post would still get it right; these must not."""
    posts = toy_posts(300)
    posts.attribute = np.random.default_rng(3).integers(0, 3, 300)
    S = sparse.random(300, 3000, 0.01, "csr", np.float32, rng=np.random.default_rng(4))
    rows = np.arange(300)
    right = {}
    for crossfit in (1, 3):
        chosen = settings(predictor=FAST | {"epochs": 40}, weights="probability", crossfit=crossfit)
        z, _, _ = attribution.inferred_vectors(posts, S, rows, S[:10], rows[:10], chosen, seed=0)
        right[crossfit] = (z[:, :3].argmax(1) == posts.attribute).mean()
    assert right[1] > 0.6 and right[3] < 0.45


def test_log_probabilities_weigh_as_the_paper_says():
    class Fixed:
        classes_ = np.array([0, 2])

        def predict_log_proba(self, S):
            return np.log(np.array([[0.25, 0.75]]))

    x = np.array([[1.0, 0.0], [9.0, 9.0], [0.0, 2.0]])
    np.testing.assert_allclose(attribution.average(Fixed(), None, x, "probability"), [[0.25, 1.5]])
    np.testing.assert_allclose(
        attribution.average(Fixed(), None, x, "log"), [[np.log(0.25) / 2, np.log(0.75)]], rtol=1e-6
    )


def test_dense_columns_are_scaled_as_the_training_posts_have_them():
    random = np.random.default_rng(0)
    train, test = random.normal(5, [1, 20, 300], (400, 3)), random.normal(0, 1, (7, 3))
    H, H_test = side_by_side([(train, test)], 2.0, 400, 7)
    assert np.linalg.norm(H, axis=1).mean() == pytest.approx(2, rel=0.1)
    np.testing.assert_allclose(H_test, 2 * (test - train.mean(0)) / train.std(0) / np.sqrt(3), rtol=1e-4)
    assert side_by_side([], 1.0, 4, 2)[0].shape == (4, 0)


def test_metadata_alone_names_the_busiest_author_of_the_tuple():
    guess = majority(np.array([0, 0, 0, 1, 1]), np.array([7, 8, 8, 3, 3]), np.array([0, 1, 5]))
    assert guess.tolist()[:2] == [8, 3] and guess[2] in (3, 8)


def test_differences_over_folds():
    from scipy import stats

    a, b = np.array([51.0, 52, 50, 53, 52]), np.array([50.0, 50.5, 50, 51, 51.5])
    points, p, corrected = difference(a, b, 0.2)
    assert points == pytest.approx(1.0) and p == pytest.approx(stats.ttest_rel(a, b).pvalue)
    assert corrected > p
    assert difference(a, a, 0.2) == (0.0, 1.0, 1.0)
    mean, low, high = interval(a, b, 0.2)
    assert mean == pytest.approx(1.0) and low + high == pytest.approx(2.0)
    assert (low > 0) == (corrected < 0.05)
    shift = difference(a, b + low, 0.2)[2]  # what lies on the edge of the interval is refused by 5 %
    assert shift == pytest.approx(0.05)


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
