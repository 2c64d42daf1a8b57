"""Attribution of texts: scores to probabilities, none of these, and planted habits found from a table to the report."""

from __future__ import annotations

import csv
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
import small_runs
import torch

from atd.errors import AtdError
from atd.ragged import Ragged
from datamodules.authors import Authors
from tasks.authors.evidence import halves
from tasks.authors.habits import Evidence, spoken
from tasks.authors.measures import difference, macro, measures
from tasks.authors.mixture import Mixture, crossed
from tasks.authors.open_set import OpenSet, area, struck
from tasks.authors.settings import Settings
from tasks.authors.study import Study
from tasks.engine.settings import typed
from tasks.learning.calibration import calibration_error


def drawn(n: int, A: int, strength: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(log-likelihoods that overstate what they know fivefold, labels, words)."""
    random = np.random.default_rng(seed)
    label = random.integers(0, A, n)
    s = random.normal(size=(n, A))
    s[np.arange(n), label] += strength
    return 5 * strength * s, label, random.integers(20, 200, n)


def test_a_mixture_makes_overconfident_scores_calibrated():
    s, label, words = drawn(4000, 10, 2.0)
    prior = np.full(10, -np.log(10))
    before = s - np.log(np.exp(s - s.max(1, keepdims=True)).sum(1, keepdims=True)) - s.max(1, keepdims=True)
    assert calibration_error(before, label) > 0.1
    mixture = Mixture().fit([s[:2000]], words[:2000], label[:2000], prior)
    log_p = mixture.log_probabilities([s[2000:]], words[2000:])
    assert np.allclose(np.exp(log_p).sum(1), 1)
    assert calibration_error(log_p, label[2000:]) < 0.045  # with so many texts chance alone gives 0.02
    assert (log_p.argmax(1) == s[2000:].argmax(1)).all()


def test_a_mixture_of_two_rows_is_better_than_each_and_noise_does_no_harm():
    a, label, words = drawn(4000, 10, 1.5, 1)
    random = np.random.default_rng(2)
    b = random.normal(size=a.shape)
    b[np.arange(4000), label] += 1.5
    noise = random.normal(size=a.shape)
    prior = np.full(10, -np.log(10))
    right = {
        name: (crossed(rows, words, label, prior).argmax(1) == label).mean()
        for name, rows in {"a": [a], "b": [b], "both": [a, b], "with noise": [a, b, noise]}.items()
    }
    assert right["both"] > max(right["a"], right["b"]) + 0.05
    assert right["with noise"] > right["both"] - 0.01


def test_texts_that_go_astray_do_not_make_the_others_unsure():
    s, label, words = drawn(4000, 200, 6.0)
    astray = np.random.default_rng(1).random(4000) < 0.1
    label[astray] = np.random.default_rng(2).integers(0, 200, astray.sum())
    mixture = Mixture().fit([s[:2000]], words[:2000], label[:2000], np.full(200, -np.log(200)))
    log_p = mixture.log_probabilities([s[2000:]], words[2000:])
    assert torch.sigmoid(mixture.astray).item() == pytest.approx(0.1, abs=0.03)
    assert calibration_error(log_p, label[2000:]) < 0.03


def test_few_texts_do_not_make_a_mixture_sure():
    s, label, words = drawn(12, 4, 3.0)
    mixture = Mixture().fit([s], words, label, np.full(4, -np.log(4)))
    assert np.exp(mixture.log_probabilities([s], words)).max() < 1 - 1e-6


def test_macro_accuracy_is_the_mean_over_authors_who_have_texts():
    label = np.array([0, 0, 0, 0, 2, 2])
    right = np.array([1, 1, 1, 1, 0, 1])
    assert macro(right, label) == pytest.approx((1 + 0.5) / 2)
    log_p = np.log(np.array([[0.8, 0.2], [0.8, 0.2], [0.8, 0.2], [0.8, 0.2], [0.8, 0.2]]))
    found = measures(log_p, np.array([0, 0, 0, 0, 1]))
    assert found["accuracy"] == pytest.approx(80)
    assert found["calibration_error"] == pytest.approx(0, abs=1e-9)


def test_the_interval_of_a_difference_holds_the_truth_and_excludes_zero_where_it_should():
    random = np.random.default_rng(0)
    label = np.repeat(np.arange(5), 200)
    ours, theirs = (random.random(1000) < p for p in (0.8, 0.7))
    found = difference(ours, theirs, label)
    assert found.low < 10 < found.high and found.low > 0
    same = difference(ours, ours, label)
    assert (same.mean, same.low, same.high) == (0, 0, 0)


def test_texts_of_strangers_are_told_from_those_of_known_authors():
    s, label, words = drawn(3000, 12, 3.0)
    prior = np.full(12, -np.log(12))
    mixture = Mixture().fit([s], words, label, prior)
    judge = OpenSet().fit({"row": s}, mixture.log_probabilities([s], words), words, label)
    own, _, own_words = drawn(1000, 12, 3.0, 5)
    strange = 15 * np.random.default_rng(6).normal(size=(1000, 12))
    known = judge.known({"row": own}, mixture.log_probabilities([own], own_words), own_words)
    strangers = judge.known({"row": strange}, mixture.log_probabilities([strange], words[:1000]), words[:1000])
    assert area(known, strangers) > 0.85
    assert area(known, known) == pytest.approx(0.5)


def test_striking_out_the_true_author_leaves_the_others_in_place():
    scores = {"row": np.arange(6.0).reshape(2, 3)}
    left, log_p = struck(scores, np.log(np.full((2, 3), 1 / 3)), np.array([1, 2]))
    assert left["row"].tolist() == [[0, 2], [3, 4]]
    assert np.allclose(np.exp(log_p), 0.5)


def test_what_a_word_says_is_measured_against_anyone():
    log_p = np.log(np.array([[0.5, 0.1], [0.2, 0.2]]))
    said = spoken(log_p, np.log([0.5, 0.5]))
    assert said[0] == pytest.approx([np.log(0.5 / 0.3), np.log(0.1 / 0.3)], rel=1e-5)
    assert said[1] == pytest.approx([0, 0], abs=1e-6)


def test_a_habit_must_be_found_in_several_texts():
    texts = Ragged(np.zeros(9), np.array([0, 5, 6, 7, 9]))
    which = np.array([0, 1, 1, 1, 2, 0, 0, 0, 1])
    said = np.array([1.0, 9, 9, 9, -1, 1, 1, 99, 99])[:, None] * [0, 1]
    evidence = Evidence("words", texts, ["ye", "odd", "the"], which, said)
    assert evidence.habits(np.array([1, 1, 1, 0]), 1, 5) == ["ye"]


@pytest.fixture(scope="module")
def run():
    """The sample's letters, by a smaller model than the task's own."""
    small = "model.K=16 model.F=24 model.D=8 model.free=8 trainer.max_epochs=6 trainer.min_steps=0 trainer.patience=6"
    rows = "task.rows=[atd,kneser-ney-characters,kneser-ney-words,word-ngrams] task.order.characters=4"
    rows += " task.controls=[shuffled,doc2vec,char-svm,nearest,classifier,classifier-ngrams]"
    with small_runs.small_world():
        out = small_runs.scratch() / "letters-run"
        cfg = small_runs.composed(
            "task=authors", *small.split(), *rows.split(), "trainer.threads=1", "data.batch_size=256", "task.shown=30"
        )
        from tasks.engine.job import run

        run(cfg, out)
        return json.loads((out / "metrics.json").read_text())["rows"], (out / "report.html").read_text()


def test_authors_are_found_and_shuffled_ones_are_not(run):
    rows, _ = run
    assert rows["atd"]["accuracy"] > 55
    assert rows["atd-vectors"]["accuracy"] > 45
    assert rows["nearest"]["accuracy"] > 30
    assert rows["char-svm"]["accuracy"] > 55
    assert rows["stacked"]["accuracy"] > 70
    assert rows["doc2vec"]["accuracy"] > 20
    assert rows["classifier"]["accuracy"] > 60
    assert rows["classifier-ngrams"]["accuracy"] > 55
    assert rows["atd-both"]["accuracy"] > 60
    assert set(rows) & {"evidence", "evidence-counts"} == set()  # what classifiers read is no row of its own
    assert rows["shuffled"]["accuracy"] < 40  # chance is 12.5; eight random vectors may fit their authors by luck


def test_planted_habits_are_shown(run):
    _, report = run
    habits = report[report.index("<h2>Habits</h2>") :]
    dov, fergus, clara = (
        re.search(rf">\s*{name}</td>(.*?)</tr>", habits, re.DOTALL)[1] for name in ("Dov", "Fergus", "Clara")
    )
    assert "ye" in dov
    assert "..." in fergus or "one" in fergus
    assert "␣␣" in clara or "along" in clara
    assert re.search(r'<span style="background: rgba\(0, 114, 178, 0\.[1-9]\d*\)" title="\+[^"]*">ye</span>', report)


def test_disputed_letters_are_given_to_their_writers_or_to_none(run):
    from datamodules.corpus import sample_folder
    from datamodules.readers.table import read_table

    _, report = run
    with small_runs.small_world():
        folder = sample_folder(small_runs.scratch() / "cache")
    truth = read_table(folder / "letters" / "disputed.csv", "text", ["truth"])["truth"].to_pylist()
    table = report[report.index("<h2>Texts of unknown authorship</h2>") : report.index("<h2>Habits</h2>")]
    verdicts = [cells[1].strip() for cells in (re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)
                                               for row in table.split("<tr>")) if cells]  # fmt: skip
    assert len(verdicts) == len(truth)
    with (small_runs.scratch() / "letters-run" / "unknown.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["verdict"] for line in lines] == verdicts
    shares = [[float(p) for name, p in line.items() if name not in ("row", "verdict", "text")] for line in lines]
    assert [sum(share) for share in shares] == pytest.approx([1.0] * len(truth), abs=1e-3)
    right = np.mean([v == (t if t != "none" else "none of these") for v, t in zip(verdicts, truth)])
    assert right > 0.5
    strangers = [v for v, t in zip(verdicts, truth) if t == "none"]
    assert strangers.count("none of these") > len(strangers) / 2


def test_an_unknown_table_is_for_this_task_alone():
    table = ["data=table", "data.path=reviews.csv", "data.attributes=[age]", "data.unknown=later.csv"]
    with small_runs.small_world(), pytest.raises(AtdError, match="only task=authors"):
        small_runs.checked(table)


def test_tuples_without_vectors_of_the_author_are_refused():
    table = ["task=authors", "data=table", "data.path=reviews.csv", "data.attributes=[age,gender]"]
    with small_runs.small_world(), pytest.raises(AtdError, match="a column of names first"):
        small_runs.run_small([*table, "data.compose=false"])


@pytest.mark.parametrize("told", [["f", "f", "m"], ["f", "m", "m"]])
def test_an_author_is_composed_of_what_is_known_of_him(tmp_path, told):
    """Ada and Bea share a value; where two texts of one author say different things of him, that is an error."""
    lines = [f"some words here {i},{name},{sex}" for i in range(8) for name, sex in zip(["Ada", "Bea", "Cy"], told)]
    lines += [f"other words,Ada,{told[0]}", "and more,Bea,f"]
    (tmp_path / "letters.csv").write_text("text,author,sex\n" + "\n".join(lines) + "\n")
    with small_runs.small_world():
        cfg = small_runs.composed(
            "task=authors", "data=authors", f"data.path={tmp_path}/letters.csv", "data.attributes=[author,sex]",
            "data.split=null", "task.texts=3", "data.min_count=1",
        )  # fmt: skip
        study = Study(cfg, typed(Settings, cfg.task)).open()
    assert study.authors == ["Ada", "Bea", "Cy"]
    assert np.bincount(study.labels("train")).tolist() == [3, 3, 3]
    x_AD = torch.eye(5)  # three authors, then the values f and m
    model = SimpleNamespace(vectors=lambda: x_AD)
    if told[1] == "m":
        study.texts = None
        with pytest.raises(AtdError, match="sex differ among the texts of Bea"):
            study.vectors(model)
    else:
        assert study.vectors(model).tolist() == [[1, 0, 0, 1, 0], [0, 1, 0, 1, 0], [0, 0, 1, 0, 1]]


def test_scores_are_given_without_twins(tmp_path):
    """Ada and Dov are one person: they cannot be told apart, and without them the others can."""
    twins = tmp_path / "twins.tsv"
    twins.write_text("a\tb\tshared\nAda\tDov\t20\n")
    random = np.random.default_rng(0)
    own = {"Ada": "&", "Dov": "&", "Greta": "unto", "Hal": "indeed"}
    people = list(own.items()) * 40
    lines = [f"I saw {word} the {random.choice(list('abcdefg'))} there .,{name}" for name, word in people]
    (tmp_path / "letters.csv").write_text("text,author\n" + "\n".join(lines) + "\n")
    with small_runs.small_world():
        cfg = small_runs.composed(
            "task=authors", "data=authors", f"data.path={tmp_path}/letters.csv", f"data.twins={twins}",
            "data.split=null", "task.rows=[word-ngrams]", "task.controls=[]",
        )  # fmt: skip
        from tasks.engine.job import run

        run(cfg, tmp_path / "run")
    rows = json.loads((tmp_path / "run/metrics.json").read_text())["rows"]
    assert rows["stacked"]["accuracy"] < 90
    assert rows["stacked"]["accuracy_without_twins"] == 100


@pytest.mark.parametrize(("content", "says"), [(None, "cannot be read"), ("a\tb\nAda\n", "fewer than two names")])
def test_a_file_of_twins_that_is_none(tmp_path, content, says):
    if content is not None:
        (tmp_path / "twins.tsv").write_text(content)
    table = {"name": "x", "path": "x", "cache": tmp_path, "text": "text", "attributes": ["author"]}
    corpus = Authors(twins=str(tmp_path / "twins.tsv"), context=2, batch_size=8, seed=0, **table)
    with pytest.raises(AtdError, match=says):
        corpus.twin_names()


def test_halves_hold_every_authors_texts_evenly():
    label = np.repeat(np.arange(4), [2, 3, 10, 1])
    half = halves(label)
    assert abs(half.sum() - 8) <= 1
    for a, n in enumerate([2, 3, 10]):
        assert abs(half[label == a].sum() - n / 2) <= 0.5
