"""`init_from=`: the platform joins new rows to a trained model as the estimator does, and keeps what it had."""

from __future__ import annotations

import csv

import pytest
import torch
from small_runs import composed

import atd
from atd.errors import AtdError
from tasks.engine.check import check
from tasks.engine.job import take_over
from tasks.learning.corpora import open_corpus
from tasks.learning.language_model import language_model
from tasks.learning.training import fit

SMALL = {"K": 12, "F": 16, "D": 4, "epochs": 2, "min_steps": 0, "samples": 20, "batch_size": 256, "min_count": 1}
TRAINING = ["trainer.max_epochs=2", "trainer.min_steps=0", "optim.samples=20", "data.batch_size=256"]
ROWS = [
    {"text": f"the {thing} sees the {other} .", "place": place}
    for place, things in {"sea": ["ship", "wave", "gull"], "farm": ["cow", "barn", "hen"]}.items()
    for thing in things
    for other in things
    for _ in range(6)
]
NEW = [{**row, "place": "shore" if row["place"] == "sea" else "farm"} for row in ROWS]
NEW = [{**row, "text": row["text"].replace("ship", "boat")} for row in NEW]


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    return atd.AttributeModel("place", **SMALL).fit(ROWS).save(tmp_path_factory.mktemp("old") / "old.ckpt")


def joining(old, tmp_path, *words: str):
    path = tmp_path / "new.csv"
    with path.open("w", newline="") as file:
        out = csv.DictWriter(file, ["text", "place"])
        out.writeheader()
        out.writerows(NEW)
    places = ["data=table", f"data.path={path}", "data.min_count=1", f"paths.cache={tmp_path}", "logger=none"]
    return composed(*places, f"init_from={old}", *TRAINING, "trainer.threads=1", *words)


@pytest.mark.parametrize("freeze", [True, False])
def test_the_weights_are_those_of_the_estimator(old, tmp_path, freeze):
    cfg = joining(old, tmp_path, f"freeze={str(freeze).lower()}")
    take_over(cfg)
    check(cfg)
    data = open_corpus(cfg)
    module = language_model(dict(cfg.model), data, cfg, cfg.seed)
    fit(module, data, cfg, tmp_path, "atd")
    joined = atd.load(tmp_path)
    theirs = atd.AttributeModel(init_from=old, freeze=freeze, **SMALL).fit(NEW).trained
    assert joined.attributes == theirs.attributes == ["farm", "sea", "shore"]
    assert joined.vocabulary.words == theirs.vocabulary.words
    for name, value in theirs.model.state_dict().items():
        assert torch.equal(joined.model.state_dict()[name], value), name
    before = atd.load(old)
    kept = torch.equal(joined.model.W_fv[: len(before.vocabulary)], before.model.W_fv)
    assert kept == freeze


def test_the_model_and_the_tokeniser_are_those_of_the_trained_one(old, tmp_path):
    cfg = joining(old, tmp_path, "model.K=7", "data.tokeniser.lowercase=false")
    take_over(cfg)
    assert cfg.model.K == cfg.data.context + 7 == 12
    assert cfg.data.tokeniser.lowercase is True


def test_a_corpus_that_cannot_join_is_refused(old):
    cfg = composed(f"init_from={old}")
    with pytest.raises(AtdError, match="init_from: data=gutenberg_sample cannot join a trained model"):
        check(cfg)


def test_other_columns_are_refused(old, tmp_path):
    cfg = joining(old, tmp_path, "data.attributes=[text]")
    with pytest.raises(AtdError, match="the attributes are text, those of the trained model place"):
        open_corpus(cfg)


def test_no_such_model(tmp_path):
    cfg = joining(tmp_path / "none.ckpt", tmp_path)
    with pytest.raises(AtdError, match=r"none\.ckpt: no such file or folder"):
        take_over(cfg)
