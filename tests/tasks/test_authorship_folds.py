"""task=authorship, fold by fold: rows, workers, resumed runs, and what must not leak, on toys."""

from __future__ import annotations

import weakref
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from test_authorship import FAST, SETTINGS, settings

from tasks.authorship import attribution
from tasks.authorship.attribution import (
    cross_validate,
    difference,
    interval,
    majority,
    rows_of,
    score_fold,
    side_by_side,
)
from tasks.authorship.posts import Posts
from tasks.engine.rows import Outcome, Row, Store, run_rows


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
