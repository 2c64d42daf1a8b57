"""task=infer on a small checkpoint, and inference as a LightningModule."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import torch
from omegaconf import OmegaConf

from atd.errors import AtdError
from atd.inference import infer
from atd.lm import MultiplicativeLM
from atd.vector_files import ENDINGS, KINDS, read
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
    defaults = dict(text=None, path=None, column="text", keep=[], drop_empty=False, format="arrow")
    defaults["tokeniser"] = {"kind": "fast", "language": "en"}
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
    with pytest.raises(AtdError, match=r"1 of 4 rows have no text .* task\.drop_empty=true"):
        task.run(config(checkpoint, path=str(path), format="csv"), tmp_path)
    with pytest.warns(UserWarning, match="1 of 3 texts"):
        task.run(config(checkpoint, path=str(path), format="csv", drop_empty=True, keep=["id"]), tmp_path)
    lines = (tmp_path / "vectors.csv").read_text().splitlines()
    assert len(lines) == 4 and lines[0].startswith('"text","id",') and lines[0].endswith('"x0","x1","x2","x3"')
    assert [line.split(",")[1] for line in lines[1:]] == ['"1"', '"3"', '"4"']
    assert "nan" not in "".join(lines).lower()


def test_the_order_and_company_of_a_text_do_not_matter(checkpoint, tmp_path):
    texts = ["a fine film", "it was dark .", "the night", "the film was a film ."]
    found = []
    for order in (texts, texts[::-1]):
        (tmp_path / "t.txt").write_text("\n".join(order))
        task.run(config(checkpoint, path=str(tmp_path / "t.txt")), tmp_path)
        found.append(np.array(pyarrow.feather.read_table(tmp_path / "vectors.arrow")["x"].to_pylist()))
    np.testing.assert_allclose(found[0], found[1][::-1], atol=1e-4)


def test_lines_keep_their_places(checkpoint, tmp_path):
    (tmp_path / "t.txt").write_text("a fine film\n\nit was dark\u2028.\n")
    with pytest.warns(UserWarning, match="1 of 3 texts"):
        task.run(config(checkpoint, path=str(tmp_path / "t.txt")), tmp_path)
    texts = pyarrow.feather.read_table(tmp_path / "vectors.arrow")["text"].to_pylist()
    assert texts == ["a fine film", "", "it was dark\u2028."]


TEXTS = ["a fine film", "It was a dark night, a fine night.", 'the "film"']


def save(path: Path) -> Path:
    """The texts with an id and a label, in the format that the name asks for."""
    rows = [{"id": i, "body": text, "label": "x\ty"} for i, text in enumerate(TEXTS)]
    table = pyarrow.Table.from_pylist(rows)
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    elif path.suffix == ".arrow":
        pyarrow.feather.write_feather(table, str(path))
    else:
        pyarrow.csv.write_csv(table, path, pyarrow.csv.WriteOptions(delimiter="\t" if path.suffix == ".tsv" else ","))
    return path


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.jsonl", "t.parquet", "t.arrow"])
def test_a_table_is_read_as_for_training(checkpoint, tmp_path, name):
    path = save(tmp_path / name)
    task.run(config(checkpoint, path=str(path), column="body", keep=["id", "label"]), tmp_path)
    found = pyarrow.feather.read_table(tmp_path / "vectors.arrow")
    assert found["text"].to_pylist() == TEXTS and found["id"].to_pylist() == ["0", "1", "2"]
    assert found["label"].to_pylist() == ["x\ty"] * 3


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_holds_the_same_vectors(checkpoint, tmp_path, kind):
    path = save(tmp_path / "t.jsonl")
    result = task.run(config(checkpoint, path=str(path), column="body", keep=["id"], format=kind), tmp_path)
    written = tmp_path / f"vectors{ENDINGS[kind]}"
    assert not list(tmp_path.rglob("*.part")) and written.name in result.sections[0].paragraphs[0]
    found = read(written, kind)
    task.run(config(checkpoint, path=str(path), column="body"), tmp_path)
    x = np.array(pyarrow.feather.read_table(tmp_path / "vectors.arrow")["x"].to_pylist(), dtype=np.float32)
    np.testing.assert_array_equal(found.x_nK, x)
    assert list(found.names) == (TEXTS if kind in ("arrow", "parquet", "csv") else ["0", "1", "2"])
    if kind == "projector":
        assert found.columns["text"] == TEXTS and found.columns["id"] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (dict(), "text, task.path"),
        (dict(text="a", path="b"), "text, task.path"),
        (dict(path="/nowhere/texts.txt"), "/nowhere/texts.txt.*set task.path to"),
        (dict(text="a", keep=["nll"]), "task.keep=nll"),
        (dict(text="a", keep=["x3"]), "task.keep=x3"),
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
    with pytest.raises(AtdError, match="columns are body"):
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
