"""task=infer on a small checkpoint, and inference as a LightningModule."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.feather
import pytest
import torch
from omegaconf import OmegaConf

from atd.errors import AtdError
from atd.inference import infer
from atd.lm import MultiplicativeLM
from atd.vocabulary import Vocabulary
from tasks import infer as task
from tasks.learning.inference import predict

WORDS = ["<unk>", "<s>", "<#>", "the", "night", "was", "dark", ".", "it", "a", "fine", "film"]
MODEL = dict(name="paper", K=6, F=8, D=4, context=3, activation="relu", gate_bias=0.0, dropout=0.0, additive=False,
             sparse=False)  # fmt: skip
CONVEX = {"name": "convex", "l2": 0.5, "samples": None, "tolerance": 1e-5, "iterations": 100}


@pytest.fixture
def checkpoint(tmp_path) -> Path:
    torch.manual_seed(0)
    model = MultiplicativeLM(len(WORDS), 6, 4, 8, 3, 3)
    saved = {
        "format": 1,
        "model": MODEL,
        "vocabularies": [Vocabulary(WORDS, range(len(WORDS), 0, -1)).state()],
        "attributes": ["novel", "review", "poem"],
    }
    path = tmp_path / "best.ckpt"
    torch.save({"atd": saved, "state_dict": {f"model.{k}": v for k, v in model.state_dict().items()}}, path)
    return path


def config(checkpoint, **options):
    defaults = dict(text=None, path=None, column="text", format="arrow", tokeniser={"kind": "fast", "language": "en"})
    return OmegaConf.create(
        {
            "checkpoint": checkpoint and str(checkpoint),
            "seed": 0,
            "inference": CONVEX,
            "trainer": {"accelerator": "cpu"},
            "task": {"name": "infer", **defaults, **options},
        }
    )


def test_one_text(checkpoint, tmp_path):
    result = task.run(config(checkpoint, text="It was a dark night."), tmp_path)
    table = pyarrow.feather.read_table(tmp_path / "vectors.arrow")
    assert table.num_rows == 1 and table["nearest"][0].as_py() in ("novel", "review", "poem")
    x = np.array(table["x"].to_pylist())
    assert x.shape == (1, 4) and (x >= 0).all() and table["converged"][0].as_py()
    assert result.rows["infer"]["known_words"] == 6
    json.dumps(result.rows)


def test_a_file_with_empty_and_unknown_texts(checkpoint, tmp_path):
    path = tmp_path / "texts.csv"
    path.write_text('text,id\n"a fine film",1\n,2\nxyzzy plugh,3\n"It was a dark night.",4\n')
    with pytest.warns(UserWarning, match="2 of 4 texts"):
        task.run(config(checkpoint, path=str(path), format="csv"), tmp_path)
    lines = (tmp_path / "vectors.csv").read_text().splitlines()
    assert len(lines) == 5 and lines[0].endswith('"x0","x1","x2","x3"')
    assert "nan" not in "".join(lines).lower()


def test_the_order_and_company_of_a_text_do_not_matter(checkpoint, tmp_path):
    texts = ["a fine film", "it was dark .", "the night", "the film was a film ."]
    found = []
    for order in (texts, texts[::-1]):
        (tmp_path / "t.txt").write_text("\n".join(order))
        task.run(config(checkpoint, path=str(tmp_path / "t.txt")), tmp_path)
        found.append(np.array(pyarrow.feather.read_table(tmp_path / "vectors.arrow")["x"].to_pylist()))
    np.testing.assert_allclose(found[0], found[1][::-1], atol=1e-4)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (dict(), "text, task.path"),
        (dict(text="a", path="b"), "text, task.path"),
        (dict(path="/nowhere/texts.txt"), "/nowhere/texts.txt"),
    ],
)
def test_wrong_input_is_one_line(checkpoint, tmp_path, options, named):
    with pytest.raises(AtdError, match=named) as error:
        task.run(config(checkpoint, **options), tmp_path)
    assert "\n" not in str(error.value)


def test_no_checkpoint_and_no_column(checkpoint, tmp_path):
    with pytest.raises(AtdError, match="checkpoint"):
        task.run(config(None, text="a"), tmp_path)
    (tmp_path / "t.csv").write_text("body\na film\n")
    with pytest.raises(AtdError, match="columns body"):
        task.run(config(checkpoint, path=str(tmp_path / "t.csv")), tmp_path)


def test_lightning_predicts_what_the_function_infers():
    torch.manual_seed(0)
    model = MultiplicativeLM(30, 6, 4, 8, 3, 3)
    tokens = torch.randint(3, 30, (60,))
    offsets = torch.tensor([0, 7, 20, 21, 40, 60])
    prior = torch.rand(5, 4)
    settings = dict(CONVEX)
    whole = infer(model, tokens, offsets, prior=prior, l2=0.5)
    parts = predict(model, tokens, offsets, settings, prior, size=2, accelerator="cpu", enable_progress_bar=False)
    torch.testing.assert_close(parts.x, whole.x, atol=1e-4, rtol=0)
