"""task=authorship, part `inferred`: calibrated tuples from words alone, and what they add, on planted posts."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from test_authorship import FAST, ROOT, models, settings

from atd.ragged import Ragged
from tasks.authorship import inferred, primary, tuples
from tasks.authorship.attribution import UNCONDITIONED
from tasks.authorship.inferred import BY_POST, MATCH, RANDOM, Factors, chosen_weight, infer, match
from tasks.authorship.posts import Posts
from tasks.authorship.tuples import Tuples, author_parts, crossfitted, fit_power, powered
from tasks.authorship.verdict import PAIRS, ROWS, verdict
from tasks.engine.result import Result
from tasks.engine.rows import Store
from tasks.learning.calibration import calibration_error

SETTINGS = settings(classifier=FAST, tuple_predictor=FAST, workers=1, crossfit=3, folds=2)
A, AUTHORS, OWN, SHARED = 3, 30, 8, 20  # tuples, authors; words of each author and of each tuple


def planted(n: int = 600, by_tuple: float = 1.0, by_author: float = 1.0) -> Posts:
    """Posts with words of their author and words of their author's tuple, so many of each."""
    random = np.random.default_rng(0)
    author = np.arange(n) % AUTHORS
    attribute = author % A
    rate = np.full((n, A * SHARED + AUTHORS * OWN), 0.05)
    for i in range(n):
        rate[i, attribute[i] * SHARED :][:SHARED] += by_tuple * 0.2
        rate[i, A * SHARED + author[i] * OWN :][:OWN] += by_author * 0.3
    table = sparse.csr_matrix(random.poisson(rate).astype(np.float32))
    x_AD = np.eye(A, 4, dtype=np.float32)
    return Posts(table, author, attribute, x_AD, {"unconditioned": random.random((n, 4), np.float32)})


def factors_of(posts: Posts, log_p_nA: np.ndarray | None = None) -> Factors:
    random = np.random.default_rng(1)
    n = len(posts.author)
    made = (random.random(shape, np.float32) for shape in ((n, 6), (A, 6), (6, 4)))
    return Factors(*made, log_p_nA)


def halves(n: int = 600) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(np.arange(n // 2, n), np.arange(n // 2)), (np.arange(n // 2), np.arange(n // 2, n))]


def overconfident(n: int, power: float, A: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """log-probabilities, and labels drawn from them as they are before they are taken to a power."""
    random = np.random.default_rng(0)
    true_nA = powered(random.normal(0, 1.5, (n, A)).astype(np.float32), 1.0)
    label_n = (random.random((n, 1)) > np.exp(true_nA).cumsum(1)).sum(1).clip(max=A - 1)
    return powered(true_nA, power), label_n


def test_the_power_undoes_overconfidence():
    log_p_nA, label_n = overconfident(8000, power=4.0)
    power = fit_power(log_p_nA[:4000], label_n[:4000])
    assert power == pytest.approx(1 / 4, rel=0.1)
    before = calibration_error(log_p_nA[4000:], label_n[4000:])
    after = calibration_error(powered(log_p_nA, power)[4000:], label_n[4000:])
    assert before > 0.2 and after < 0.04


def test_no_author_teaches_the_predictor_that_judges_him(monkeypatch):
    """Each predictor is asked about training posts of exactly those authors who did not teach it."""
    posts = planted()
    posts.counts = posts.counts.tolil()
    posts.counts[:, 0] = np.arange(600)[:, None]  # a post says which it is
    S = posts.counts.tocsr()
    taught: list[set[int]] = []
    judged: list[set[int]] = []

    class Watched(tuples.SoftmaxClassifier):
        def fit(self, S, y):
            taught.append(set(posts.author[S[:, [0]].toarray().astype(int).ravel()].tolist()))
            return super().fit(S / 600, y)

        def predict_proba(self, S):
            judged.append(set(posts.author[S[:, [0]].toarray().astype(int).ravel()].tolist()))
            return super().predict_proba(S)

    monkeypatch.setattr(tuples, "SoftmaxClassifier", Watched)
    crossfitted(S, posts.attribute, posts.author, S[:60], A, SETTINGS, seed=0)
    of_training = judged[::2]  # then those of test
    assert len(taught) == 3 and set.union(*of_training) == set(range(AUTHORS))
    for teachers, pupils in zip(taught, of_training, strict=True):
        assert pupils and not teachers & pupils and teachers | pupils == set(range(AUTHORS))


def test_what_is_learned_is_tuples_not_authors():
    """Where only the author's own words betray the tuple, nothing can be known of authors who taught nothing."""
    for by_tuple, low, high in ((1.0, 0.8, 1.0), (0.0, 0.0, 0.5)):
        posts = planted(by_tuple=by_tuple)
        S = sparse.csr_matrix(posts.counts / 10)
        log_p_nA, of_test = crossfitted(S, posts.attribute, posts.author, S[:60], A, SETTINGS, seed=0)
        assert low <= (log_p_nA.argmax(1) == posts.attribute).mean() <= high
        assert (of_test.argmax(1) == posts.attribute[:60]).mean() > 0.8  # here the authors are known: surer by far
        np.testing.assert_allclose(np.exp(log_p_nA).sum(1), 1, rtol=1e-4)


def test_parts_keep_an_authors_posts_together():
    author = np.repeat(np.arange(50), 4)
    part = author_parts(author, 3, seed=0)
    assert all(len(set(part[author == a])) == 1 for a in range(50))
    assert np.bincount(part).min() >= 64


def test_tuples_without_a_teacher_are_unlikely_and_possible():
    model = SimpleNamespace(classes_=np.array([0, 2]), predict_proba=lambda S: np.array([[0.25, 0.75]]))
    p = np.exp(tuples.log_probabilities(model, np.zeros((1, 1)), 4))
    np.testing.assert_allclose(p, [[0.25, 0.0025, 0.745, 0.0025]], rtol=1e-5)


def test_all_posts_of_an_author_say_more_than_one_and_the_power_keeps_them_from_shouting():
    """Every post of an author errs alike in part, so that the plain sum of their evidence would be too sure."""
    random = np.random.default_rng(0)
    author = np.repeat(np.arange(400), 20)
    a_of = random.integers(0, 4, 400)
    own = random.normal(0, 1, (400, 4)) + 1.0 * np.eye(4)[a_of]  # what all of an author's posts share
    log_p = powered((own[author] + random.normal(0, 1, (8000, 4))).astype(np.float32), 1.0)
    found = Tuples.fit(log_p, a_of[author], author)
    pi_CA = found.of_authors(log_p, author)
    right = (pi_CA.argmax(1) == a_of).mean()
    assert right > (log_p.argmax(1) == a_of[author]).mean() and found.author_power < 0.2
    assert calibration_error(pi_CA, a_of) < 0.08
    assert calibration_error(powered(pi_CA, 1 / found.author_power), a_of) > 0.2


def test_the_match_is_the_formula():
    p, pi, prior = np.array([[0.8, 0.2]]), np.array([[0.5, 0.5], [0.9, 0.1]]), np.array([0.6, 0.4])
    expected = [[0.8 * row[0] / 0.6 + 0.2 * row[1] / 0.4 for row in pi]]
    np.testing.assert_allclose(match(*map(np.log, (p, pi, prior))), np.log(expected))
    same = np.log(np.array([[0.6, 0.4]] * 3))
    np.testing.assert_allclose(match(np.log(p), same, same[0]), 0, atol=1e-9)  # authors of whom nothing is known


def test_tuples_that_are_known_well_help_to_find_the_author_and_others_have_no_weight(tmp_path):
    """Words that say little of the author, and a judge from elsewhere who knows the tuple of each post, or nothing."""
    posts = planted(by_tuple=0.0, by_author=0.6)
    knows = np.where(np.eye(A)[posts.attribute] > 0, 0.9, 0.05).astype(np.float32)
    guesses = np.random.default_rng(2).permutation(knows)
    gain = {}
    for name, p_nA in (("knows", knows), ("guesses", guesses)):
        folds, log_p_nA = halves(), np.log(p_nA)
        outcomes = infer(posts, factors_of(posts, log_p_nA), folds, SETTINGS, 0, Store(tmp_path / name), True)
        gain[name] = np.mean([outcome.scores[MATCH] - outcome.scores["tfidf"] for outcome in outcomes])
        assert UNCONDITIONED not in outcomes[0].scores  # another part has measured it
    assert gain["knows"] > 5 and abs(gain["guesses"]) < 3
    train = halves()[0][0]
    S, y, log_p = posts.counts[train], posts.author[train], np.log(knows[train])
    assert chosen_weight(S, y, log_p, Tuples.fit(log_p, posts.attribute[train], y), SETTINGS, 0) > 0


@pytest.mark.parametrize("teachers", ["others", "authors"])
def test_a_fold_has_every_row_and_nothing_of_the_test_posts_is_fitted(tmp_path, monkeypatch, teachers):
    """The tuples and authors of test posts may be anything: what is fitted, and what is said of them, is the same."""
    fitted: list[list[np.ndarray]] = []

    class Recorded(inferred.SoftmaxClassifier):
        def fit(self, X, y):
            super().fit(X, y)
            fitted[-1].extend(w.numpy().copy() for w in (self.W_, self.dense_, self.b_))
            return self

    monkeypatch.setattr(inferred, "SoftmaxClassifier", Recorded)
    monkeypatch.setattr(tuples, "SoftmaxClassifier", Recorded)
    made = []
    for spoilt in (False, True):
        fitted.append([])
        posts = planted(240)
        train, test = halves(240)[0]
        log_p_nA = powered(np.random.default_rng(0).random((240, A), np.float32), 1.0)
        if spoilt:
            posts.author[test], posts.attribute[test] = np.roll(posts.author[test], 1), 0
            table = posts.counts.toarray()
            table[test] = 1.0
            posts.counts = sparse.csr_matrix(table)
        factors = factors_of(posts, log_p_nA if teachers == "others" else None)
        made.append(inferred.infer_fold(posts, factors, [(train, test)], SETTINGS, 0, False, 0))
    assert set(made[0].scores) == set(ROWS)
    assert {
        name: made[0].facts[name] == made[1].facts[name] for name in ("power", "power_authors", "match_weight")
    } == {
        "power": True,
        "power_authors": True,
        "match_weight": True,
    }
    rows, predictors = 6, 3 if teachers == "authors" else 0  # tfidf, its weight's, and four with document vectors
    assert len(fitted[0]) == 3 * (rows + predictors)
    for before, after in zip(*fitted, strict=True):
        np.testing.assert_array_equal(before, after)


def test_document_vectors_are_those_of_the_mean_attribute_vector():
    atd, _ = models()
    words = Ragged(np.array([3, 4, 0, 4, 7, 8]), np.array([0, 4, 6]))
    x_AD = atd.vectors().detach()
    posts: Any = SimpleNamespace(x_AD=x_AD.numpy())
    factors = Factors.of(atd, None, words, posts, replace(SETTINGS, teachers="authors"), 0)  # type: ignore[arg-type]
    p = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]], np.float32)
    made = factors.conditioned(np.arange(2), np.log(p + 1e-30), factors.gate_AF)
    for i, tokens in enumerate(([3, 4, 4], [7, 8])):
        sums = atd.conditional(x_AD.T @ x_AD.new_tensor(p[i]))[tokens].sum(0).detach()
        np.testing.assert_allclose(made[i], sums / sums.norm(), atol=1e-5)


@pytest.mark.parametrize(
    ("post", "plain", "random", "said"),
    [
        (51.0, 51.9, 51.0, "adds nothing to tf-idf"),
        (52.0, 52.0, 51.0, "conditioning it on the inferred tuple adds nothing to that"),
        (53.0, 52.0, 53.0, "so do the vectors of random tuples"),
        (53.0, 52.0, 51.5, "adds, and more than the vectors of random tuples do"),
    ],
)
def test_the_verdict_claims_what_the_intervals_show(post, plain, random, said):
    noise = np.array([-0.01, 0.02, -0.01, 0.0])
    scores = {row: 51.0 + noise for row in ROWS}
    scores |= {BY_POST: post - noise, UNCONDITIONED: plain + noise, RANDOM: random + noise[::-1]}
    text = verdict(scores)
    assert said in text and f"{post - 51:+.2f} points to tfidf" in text
    assert "with those of the candidates adds nothing that can be shown" in text
    assert (BY_POST, RANDOM) in PAIRS


def test_the_part_alone_has_a_number_to_optimise():
    assert primary(["inferred", "likelihood"]) == "tfidf+conditioned-post/accuracy"
    assert primary(["inferred", "experiments"]) == "tfidf+conditioned/accuracy"
    assert primary(["mixture"]) == "atd/perplexity"
    assert Result("authorship", primary(["inferred"]), {BY_POST: {"accuracy": 3.0}}).value == 3
    assert "inferred" in (ROOT / "conf/task/authorship.yaml").read_text().split("parts: ")[1].split("]")[0]
