"""Reviewers and papers: planted fields found again, by a mixture in those who have two; losses by hand; bad tables."""

from __future__ import annotations

import csv
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from atd.errors import AtdError
from atd.inference import infer
from atd.likelihood import log_likelihoods
from atd.ragged import offsets_of
from datamodules.sample.reviewers import FIELDS, PAPERS, REVIEWERS, interests
from tasks import matching
from tasks.engine.settings import typed
from tasks.learning.controls import Variant
from tasks.matching.combination import combined, weights
from tasks.matching.counting import by_papers, unigram
from tasks.matching.loss import Ratings, costs, interval, loss, own_above_others, pairs_right, resampled
from tasks.matching.parts import parts, unit
from tasks.matching.rows import dealt
from tasks.matching.settings import Settings
from tasks.matching.study import Study, centred, cost_of, judged
from tasks.matching.vectors import Vectors, by_distance, learn
from tests.small_runs import cached

SMALL = ["task=matching", "trainer.min_steps=100", "trainer.threads=1", "logger=none", "task.folds=2", "task.shown=2"]
SMALL += ["model.K=16", "model.F=16", "model.D=16", "model.free=16", "optim.samples=100", "task.components=2"]
configuration = partial(cached, SMALL)


@pytest.fixture(scope="module")
def study(cache) -> Study:
    cfg = configuration(cache)
    return Study(cfg, typed(Settings, cfg.task))


@pytest.fixture(scope="module")
def vectors(study, tmp_path_factory) -> Vectors:
    out = tmp_path_factory.mktemp("run")
    learn(study.open(), study.cfg, out, "model", 0, Variant(dict(study.cfg.model)))
    return Vectors.of(study.data, study.cfg, out, "model")


def test_a_run_scores_all_submissions_and_names_reviewers_of_their_field(cache, tmp_path):
    rows = "task.rows=[atd-mixture,tfidf+atd,shuffled,no-attribute]"
    result = matching.run(configuration(cache, rows), tmp_path)
    found = {row: scores["loss"] for row, scores in result.rows.items()}
    assert found["no-attribute"] == 0.5
    assert max(found["atd-mixture"], found["tfidf+atd"]) < 0.2 < found["shuffled"]
    assert result.primary == "atd-mixture/loss" and result.value == found["atd-mixture"]
    assert result.details["atd-mixture"]["loss_low"] < found["atd-mixture"] < result.details["atd-mixture"]["loss_high"]
    with (tmp_path / "scores.csv").open() as file:
        header, *lines = csv.reader(file)
    assert header[:2] == ["id", "reviewer A"] and len(lines) == 48
    sections = {section.title: section for section in result.sections}
    assert len(sections["What decided"].texts) == 2
    right = [
        field_of(title) in fields_named(ranked) for _, title, ranked in sections["Reviewers for each submission"].rows
    ]
    assert np.mean(right) > 0.9


def field_of(title: str) -> str:
    return next(name for name, words in FIELDS.items() if set(words.split()) & set(title.split()))


def fields_named(ranked: str) -> list[str]:
    """The fields of the first reviewer named."""
    return interests(ord(ranked.split()[1]) - ord("A"))


def test_a_mixture_finds_both_fields_of_a_reviewer(study, vectors):
    """His papers are dealt to two vectors by field; a reviewer of one field gains nothing by a second."""
    for r in range(REVIEWERS // 2, REVIEWERS):
        own = study.pool.versions[0][r]
        found = parts(vectors.x_PD, own, 2)
        fields = [{field_of(study.pool.titles[paper]) for paper in part} for part in found]
        assert sorted(map(len, fields)) == [1, 1] and fields[0] != fields[1]
    one, two = (study.proxy(study.held(by_distance(vectors, J))) for J in (1, 2))
    assert two > one > 80


def test_papers_together_have_the_vector_of_their_joined_text(study, vectors):
    """To second order; of one paper it is its own."""
    groups = [tuple(own) for own in study.pool.versions[0]]
    tokens = torch.from_numpy(np.concatenate([vectors.papers[p] for group in groups for p in group]).astype(np.int64))
    lengths = [sum(len(vectors.papers[p]) for p in group) for group in groups]
    exact = infer(vectors.model, tokens, torch.from_numpy(offsets_of(lengths)), **vectors.options).x.numpy()
    assert min((unit(vectors.joint(groups)) * unit(exact)).sum(1)) > 0.9
    assert np.allclose(vectors.joint([(3,)]), vectors.x_PD[3]) and np.abs(vectors.x_PD[3]).max() > 1e-3


def test_likelihoods_to_second_order_are_near_exact_ones(study, vectors):
    """The same order of submissions for each reviewer."""
    groups = [tuple(own) for own in study.pool.versions[0]]
    x = torch.from_numpy(np.vstack([vectors.joint(groups), np.zeros((1, 16))])).float()
    exact = log_likelihoods(vectors.model, vectors.papers.take(study.asked), x)
    exact = (exact[:, :-1] - exact[:, -1:]) / vectors.words_P[study.asked][:, None]
    found = vectors.log_ratios(study.asked, groups)
    assert min(np.corrcoef(a, b)[0, 1] for a, b in zip(exact.T, found.T, strict=True)) > 0.97
    assert 0.5 < found.std() / exact.std() < 1.5


def test_the_loss_by_hand():
    """Reviewer 0 rated 5, 3, 1: the order 3, 5, 1 costs 2 of 2 + 4 + 2. Reviewer 1 rated 4 and 2, scored alike."""
    ratings = Ratings.of([(0, 0, 5.0), (0, 1, 3.0), (0, 2, 1.0), (1, 0, 4.0), (1, 2, 2.0)], R=3)
    score_SR = np.array([[2.0, 1.0, 0.0], [3.0, 0.0, 0.0], [1.0, 1.0, 9.0]])
    said_n = ratings.of_scores(score_SR)
    assert said_n.tolist() == [2, 3, 1, 1, 1]
    cost_R, weight_R = costs(ratings, said_n)
    assert cost_R.tolist() == [2, 1, 0] and weight_R.tolist() == ratings.weight_R().tolist() == [8, 2, 0]
    assert loss(cost_R, weight_R) == 0.3
    assert pairs_right(ratings, said_n) == {"easy": 0.5}
    assert judged(ratings, [said_n, ratings.expertise_n])["loss"] == 0.15
    draws = resampled(cost_R[:2], weight_R[:2])
    assert interval(draws) == (0.25, 0.5) and draws.mean() == pytest.approx(np.mean([0.25, 0.3, 0.3, 0.5]), abs=0.01)


def test_rivals_have_their_published_losses(cache, real_data):
    cfg = configuration(cache, "data=reviewers", f"data.path={real_data / 'reviewers'}")
    study = Study(cfg, typed(Settings, cfg.task))
    assert study.ratings is not None
    found = {}
    for name, versions in study.pool.rivals.items():
        said = [np.array(one) for one in versions]
        found[name] = judged(study.ratings, said)["loss"]
        assert loss(cost_of(study.ratings, said), study.ratings.weight_R()) == pytest.approx(found[name])
    published = {"tpms": 0.2811, "acl": 0.2958, "elmo": 0.3447, "specter": 0.2689, "specter_mfr": 0.2384}
    assert found == pytest.approx(published, abs=5e-5)


def test_held_out_papers_are_in_no_profile(study):
    seen = []
    for fold in study.folds:
        for own, mine_T in zip(fold.profiles, fold.own_TR.T, strict=True):
            assert not set(own) & set(fold.asked[mine_T].tolist())
        seen += fold.asked.tolist()
    assert sorted(seen) == list(range(REVIEWERS * PAPERS))
    assert study.own_PR.sum() == REVIEWERS * PAPERS
    assert study.proxy(study.own_PR.astype(float)) == 100 and study.proxy(np.zeros_like(study.own_PR, float)) == 50
    assert own_above_others(np.array([[1.0], [2.0], [0.0]]), np.array([[True], [False], [False]])) == 50


def test_scores_by_hand():
    alike = np.array([[1, 0.5, 0.1], [0.5, 1, 0.2], [0.1, 0.2, 1]])
    options = by_papers(alike)
    asked = np.array([2])
    assert options["nearest"]([[0, 1], [1]], asked).tolist() == [[0.2, 0.2]]
    assert np.allclose(options["all"]([[0, 1], [1]], asked), [[0.15, 0.2]])
    assert np.allclose(centred(options["all"]([[0, 1], [1]], asked)), [[-0.025, 0.025]])
    shuffled = dealt(lambda profiles, _: np.concatenate(profiles), 0, [[0, 1], [2]], asked)
    assert sorted(shuffled) == [0, 1, 2]
    score = unigram(["ant bee", "cow dog", "ant cow"])["1000 words added"]
    log_p = {word: np.log((n + 1000 * c / 6) / 1002 / (c / 6)) for word, n, c in (("ant", 1, 2), ("cow", 0, 2))}
    assert score([[0]], np.array([2]))[0, 0] == pytest.approx((log_p["ant"] + log_p["cow"]) / 2)


def test_a_combination_trusts_what_finds_own_papers():
    rng = np.random.default_rng(0)
    own = rng.random((200, 4)) < 0.3
    good, bad = own + rng.normal(size=own.shape), rng.normal(size=own.shape)
    weight = weights([good, bad], own)
    assert weight[0] > 0.7 and np.abs(weight).sum() == pytest.approx(1)
    both = combined([good, bad], weight)
    assert own_above_others(both, own) >= own_above_others(good, own) - 2 and np.allclose(both.mean(0), 0)


def test_tables_of_ones_own_need_no_ratings(cache, tmp_path):
    write(tmp_path / "r.csv", "who,abstract", "1,ants and bees in a hive", "1,bees of the hive", "2,cows in a barn")
    write(tmp_path / "p.csv", "id,abstract", "7,the hive of bees", "8,a barn of cows")
    tables = [f"data.reviewers={tmp_path}/r.csv", f"data.papers={tmp_path}/p.csv", "data.title=null"]
    rows = ["data.reviewer=who", "data.min_count=1", "task.rows=[tfidf]"]
    result = matching.run(configuration(cache, *tables, *rows), tmp_path)
    assert result.primary == "tfidf/own_above_others" and "2 submissions" in result.verdict
    assert (tmp_path / "scores.csv").read_text().splitlines()[0] == "id,1,2"


def test_bad_tables_are_explained_in_a_line(cache, tmp_path):
    good = "reviewer,title,abstract", "A,on ants,ants and bees", "B,on cows,cows and dogs"
    write(tmp_path / "r.csv", *good)
    write(tmp_path / "p.csv", "id,title,abstract", "1,on ants,ants", "1,on cows,cows")
    refused(cache, tmp_path, "p.csv: row 2 repeats '1' in 'id'")
    write(tmp_path / "p.csv", "id,title", "1,on ants")
    refused(cache, tmp_path, "p.csv: no column 'abstract'; the columns are id, title")
    write(tmp_path / "p.csv", "id,title,abstract", "1,on ants,ants")
    write(tmp_path / "r.csv", *good[:2])
    refused(cache, tmp_path, "r.csv: all papers are by one reviewer")
    write(tmp_path / "r.csv", *good, ",on dogs,dogs")
    refused(cache, tmp_path, "r.csv: row 3 has no 'reviewer'")
    write(tmp_path / "r.csv", *good)
    write(tmp_path / "e.csv", "reviewer,id,expertise", "C,1,5")
    refused(cache, tmp_path, "e.csv: row 1 names the reviewer 'C'", f"data.ratings={tmp_path}/e.csv")
    write(tmp_path / "e.csv", "reviewer,id,expertise", "A,1,much")
    refused(cache, tmp_path, "'expertise' is 'much', not a number", f"data.ratings={tmp_path}/e.csv")
    with pytest.raises(AtdError, match=r"data\.papers: .*r\.csv alone is no match"):
        Study(cfg := configuration(cache, f"data.reviewers={tmp_path}/r.csv"), typed(Settings, cfg.task)).open()
    with pytest.raises(AtdError, match="no gold standard of reviewers here"):
        Study(cfg := configuration(cache, "data=reviewers", f"data.path={tmp_path}"), typed(Settings, cfg.task)).open()


def refused(cache: Path, folder: Path, why: str, *words: str) -> None:
    tables = f"data.reviewers={folder}/r.csv", f"data.papers={folder}/p.csv"
    cfg = configuration(cache, *tables, *words)
    with pytest.raises(AtdError) as error:
        Study(cfg, typed(Settings, cfg.task)).open()
    assert why in str(error.value)


def write(path: Path, *lines: str) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
