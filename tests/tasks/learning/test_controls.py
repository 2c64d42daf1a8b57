"""Attributes of generated text: planted ones help, meaningless ones do no harm. And the measures of that."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import torch
from small_runs import composed

from atd.models import load
from tasks.learning.comparison import Comparison, compare_models
from tasks.learning.controls import MEANING, Variant, available, control_models, paired_difference
from tasks.learning.corpora import open_corpus

WORDS = 150
TRAINING = [
    "model.K=16",
    "model.F=16",
    "model.D=8",
    "optim.samples=0",
    "optim.lr=0.01",
    "trainer.max_epochs=5",
    "trainer.min_steps=0",
]
TRAINING += ["data.batch_size=512", "data.min_count=1", "logger=none", "trainer.threads=1"]


def write_table(path: Path, texts: int, values: int, planted: float, seed: int = 0) -> Path:
    """Texts of 30 words from one bigram chain; a value makes its own eight words likelier by `planted`."""
    random = np.random.default_rng(seed)
    chain = random.dirichlet(np.full(WORDS, 0.1), WORDS)
    own = random.integers(0, WORDS, (values, 8))
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["text", "value"])
        for i in range(texts):
            value = i % values
            word = int(random.integers(WORDS))
            text = []
            for _ in range(30):
                mine = random.random() < planted
                word = int(random.choice(own[value])) if mine else int(random.choice(WORDS, p=chain[word]))
                text.append(f"w{word}")
            out.writerow([" ".join(text), f"v{value}"])
    return path


def compared(folder: Path, table: Path, *controls: str) -> Comparison:
    words = ["data=table", f"data.path={table}", "data.attributes=[value]", f"paths.cache={folder}/cache", *TRAINING]
    cfg = composed(*words)
    models = {"atd": Variant(dict(cfg.model)), **control_models(cfg, list(controls))}
    return compare_models(cfg, open_corpus(cfg), folder / "run", models)


def above(models: Comparison, row: str, reference: str) -> float:
    """By how many per cent one test perplexity exceeds another."""
    return 100 * (models.rows[row]["perplexity"] / models.rows[reference]["perplexity"] - 1)


@pytest.fixture(scope="module")
def planted(tmp_path_factory) -> Comparison:
    folder = tmp_path_factory.mktemp("planted")
    return compared(folder, write_table(folder / "t.csv", 2400, 6, 0.25), "no-attributes", "shuffled", "random-gate")


def test_dev_perplexity_is_of_the_whole_part_even_where_epochs_saw_a_sample(tmp_path, monkeypatch):
    table = write_table(tmp_path / "t.csv", 400, 4, 0.25)
    whole = compared(tmp_path / "whole", table).rows["atd"]
    monkeypatch.setattr("datamodules.corpus.VALIDATION_WORDS", 300)
    monkeypatch.setattr("tasks.learning.comparison.VALIDATION_WORDS", 300)
    sampled = compared(tmp_path / "sampled", table).rows["atd"]
    assert sampled["perplexity_dev"] == pytest.approx(whole["perplexity_dev"], rel=1e-4)


def test_planted_attributes_gain(planted):
    assert above(planted, "no-attributes", "atd") > 3
    words = np.full(planted.losses("atd").shape[1], 30)
    assert paired_difference(planted.losses("no-attributes"), planted.losses("atd"), words).low > 0


def test_shuffled_attributes_cost_at_most_half_a_per_cent(planted):
    assert abs(above(planted, "shuffled", "no-attributes")) < 0.5


def test_a_random_gate_does_not_learn(planted):
    random = planted.trained("random-gate").model
    torch.manual_seed(0)
    assert (random.L.std() - 1).abs() < 0.3
    assert random.W_fa is None
    assert above(planted, "random-gate", "atd") > 1


def test_a_thousand_values_with_three_texts_each_do_no_harm(tmp_path):
    models = compared(tmp_path, write_table(tmp_path / "t.csv", 3000, 1000, 0.0), "no-attributes")
    assert abs(above(models, "atd", "no-attributes")) < 0.5


def test_every_row_may_have_its_own_step_size_and_several_seeds(tmp_path):
    table = write_table(tmp_path / "t.csv", 200, 2, 0.2)
    words = ["data=table", f"data.path={table}", "data.attributes=[value]", f"paths.cache={tmp_path}/cache", *TRAINING]
    cfg = composed(*words, "trainer.max_epochs=2", "optim.decay=0")
    models = {"atd": dict(cfg.model), **control_models(cfg, ["lbl"])}
    found = compare_models(cfg, open_corpus(cfg), tmp_path / "run", models, ["kneser-ney"], seeds=2, steps=[0.01, 1])
    for row in ("atd", "lbl"):
        first, second = found.outcomes[row]
        assert first.facts["lr"] == second.facts["lr"] == 0.01  # a step of 0.0001 learns nothing in an epoch
        assert found.rows[row]["perplexity_sd"] > 0
        assert found.losses(row).shape == found.losses("kneser-ney").repeat(2, 0).shape
        np.testing.assert_allclose(np.exp(first.arrays["test"].sum() / (20 * 30)), first.scores["perplexity"])
    assert found.trained("atd", 1).model.vectors().shape == (2, 8)
    of_the_folder = load(tmp_path / "run").model
    assert torch.equal(of_the_folder.vectors(), found.trained("atd").model.vectors())


def test_workers_side_by_side_find_what_one_finds(tmp_path):
    table = write_table(tmp_path / "t.csv", 200, 2, 0.2)
    words = ["data=table", f"data.path={table}", "data.attributes=[value]", f"paths.cache={tmp_path}/cache", *TRAINING]
    cfg = composed(*words, "trainer.max_epochs=1")
    data = open_corpus(cfg)
    models = {"atd": dict(cfg.model), **control_models(cfg, ["shuffled"])}
    alone, together = (
        compare_models(cfg, data, tmp_path / f"run{workers}", models, ["kneser-ney"], workers=workers)
        for workers in (1, 2)
    )
    assert alone.rows == together.rows


def test_a_paired_difference_is_the_ratio_of_perplexities_and_its_interval_tells():
    random = np.random.default_rng(0)
    words_n = random.integers(20, 60, 300)
    hard_n = random.normal(5, 1, 300) * words_n
    same = paired_difference(np.stack([hard_n, hard_n]), hard_n[None] + random.normal(0, 1, (2, 300)), words_n)
    assert not same.certain and abs(same.percent) < 1
    worse = paired_difference(hard_n[None] + 0.02 * words_n, hard_n[None], words_n)
    assert worse.certain
    np.testing.assert_allclose([worse.percent, worse.low, worse.high], 100 * np.expm1(0.02))


def test_the_controls_of_the_open_gate_are_not_those_of_other_models():
    assert available(composed()) == list(MEANING)
    assert available(composed("model=paper")) == ["shuffled", "lbl", "kneser-ney", "kneser-ney-attributes"]
