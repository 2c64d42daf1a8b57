"""task=export: a folder that can be given away, and a report of what is in it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from omegaconf import OmegaConf

import atd
from atd.errors import AtdError
from atd.vector_files import KINDS, read
from tasks import export as task
from tests.tasks.tiny_model import NAMES, write_checkpoint


def config(checkpoint: Path | None, **options):
    defaults = dict(name="export", kinds=["word2vec", "safetensors"], given=[], attributes=True)
    return OmegaConf.create({"checkpoint": checkpoint and str(checkpoint), "task": defaults | options})


def test_a_run_becomes_a_folder_to_give_away(tmp_path):
    run = write_checkpoint(tmp_path / "run")
    metrics = {"rows": {"atd": {"perplexity": 12.5}}, "primary_metric": "atd/perplexity", "lower_is_better": True}
    (run / "metrics.json").write_text(json.dumps(metrics))
    data = {"name": "table", "path": "/home/someone/reviews.csv", "tokeniser": {"kind": "fast"}, "cache": "/tmp/c"}
    OmegaConf.save(OmegaConf.create({"data": data, "seed": 7}), run / "config.yaml")
    given = [NAMES[0], f"0.5*{NAMES[0]} + 0.5*{NAMES[5]}", {"attribute": NAMES[1]}]
    result = task.run(config(run, kinds=list(KINDS), given=given), tmp_path)
    trained = atd.load(run)
    folder = tmp_path / "model"
    rows = result.sections[0].rows
    assert len(rows) == result.value == 2 + len(KINDS) * (len(given) + 2)
    assert {str(path.relative_to(tmp_path)) for path in folder.iterdir()} == {row[0] for row in rows}
    assert all(int(row[1].replace(",", "")) > 0 for row in rows)
    assert atd.load(folder / "trained.ckpt").attributes == NAMES
    mixed = next(path for path in folder.glob("words-given-0-5-*.parquet"))
    np.testing.assert_array_equal(read(mixed).x_nK, trained.vectors(given[1])[3:])
    card = (folder / "README.md").read_text()
    for said in ("| data.path | reviews.csv |", "| data.tokeniser.kind | fast |", "| seed | 7 |", "| atd | 12.5 |"):
        assert said in card, said
    assert "someone" not in card and "/tmp" not in card
    json.dumps(result.rows)


def test_one_mix_a_checkpoint_file_and_no_attributes(tmp_path):
    run = write_checkpoint(tmp_path / "run")
    result = task.run(config(run / "checkpoints/atd/best.ckpt", given=NAMES[0], attributes=False), tmp_path)
    names = [row[0] for row in result.sections[0].rows]
    words = ["words.txt", "words.safetensors", "words-given-bible-kjv.txt", "words-given-bible-kjv.safetensors"]
    assert names == [f"model/{name}" for name in ("trained.ckpt", *words, "README.md")]


def test_names_that_change_are_said(tmp_path):
    run = write_checkpoint(tmp_path / "run", names=["the sea", "the farm"])
    result = task.run(config(run, kinds=["word2vec"]), tmp_path)
    assert "2 names had blanks, written as _: 'the sea' → 'the_sea'" in result.sections[1].paragraphs[0]


def test_a_model_without_attributes_has_words(tmp_path):
    result = task.run(config(write_checkpoint(tmp_path / "run", {"name": "lbl"})), tmp_path)
    assert result.rows["export"]["attributes"] == 0 and (tmp_path / "model/words.txt").is_file()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (dict(kinds=["npz"]), r"task\.kinds=.*must be a list of some of word2vec, .*projector"),
        (dict(kinds=[]), r"task\.kinds"),
        (dict(given=[[3]]), r"task\.given"),
        (dict(given=[3]), "no attribute is called '3'"),
        (dict(given=["nobody"]), "nobody"),
        (dict(given=[{"place": "sea"}]), "there is no column 'place'"),
    ],
)
def test_wrong_settings_are_one_line_before_anything_is_written(tmp_path, options, says):
    with pytest.raises(AtdError, match=says):
        task.run(config(write_checkpoint(tmp_path / "run"), **options), tmp_path)
    assert not (tmp_path / "model").exists()


def test_no_checkpoint(tmp_path):
    with pytest.raises(AtdError, match="checkpoint: give a trained model"):
        task.run(config(None), tmp_path)
