"""The sentiment task: its arithmetic on hand-made numbers, and the whole of it on a handful of trees."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from atd.errors import AtdError
from atd.ragged import Ragged
from atd.settings import read
from atd.vocabulary import SPECIALS, Vocabulary
from tasks.engine.check import CONF
from tasks.engine.rows import Store
from tasks.sentiment.encoder import joint
from tasks.sentiment.scores import accuracies, classify, confusion
from tasks.sentiment.settings import Settings
from tasks.sentiment.words import start_words
from tests.program import run_py

ROOT = Path(__file__).parent.parent.parent
GOOD, BAD = ("great", "lovely", "superb", "fine"), ("awful", "dull", "bad", "poor")


def test_accuracies_leave_neutral_out_of_binary():
    p = np.array([[0.1, 0.1, 0.5, 0.2, 0.1], [0.4, 0.1, 0.1, 0.2, 0.2], [0.0, 0.3, 0.1, 0.2, 0.4]])
    fine, binary = accuracies(np.log(p + 1e-9), np.array([2, 0, 3]))
    assert fine == pytest.approx(200 / 3) and binary == 100
    assert confusion(np.log(p + 1e-9), np.array([2, 0, 3]))[3, 4] == 1


def test_joint_keeps_neutral_and_averages_the_polarity():
    fine = torch.tensor([[0.1, 0.1, 0.2, 0.3, 0.3]]).log()
    polar = torch.tensor([[0.9, 0.1]]).log()
    p = joint(fine, polar).exp()[0]
    torch.testing.assert_close(p.sum(), torch.tensor(1.0))
    torch.testing.assert_close(p[2], torch.tensor(0.2))
    torch.testing.assert_close(p[3:].sum(), torch.tensor(0.8 * (0.75 + 0.1) / 2))


def test_classify_undoes_the_glut_of_neutral_phrases():
    """One dimension that orders the labels; nine tenths of the training phrases neutral, of the sentences few."""
    rng = np.random.default_rng(0)
    label = np.where(rng.random(4000) < 0.9, 2, rng.integers(0, 5, 4000))
    sentences = rng.integers(0, 5, 500)

    def x(y):
        return (y[:, None] - 2 + 0.4 * rng.standard_normal((len(y), 1))) * np.ones((1, 2))

    vectors = {"train": x(label), "val": x(sentences), "test": x(sentences)}
    logp, setting = classify(vectors, label, np.ones(4000), sentences, sentences, units=(False,), powers=(0.0,))
    fine, binary = accuracies(logp["test"], sentences)
    assert fine > 70 and binary > 98 and not setting.unit


def test_a_hidden_layer_finds_what_no_line_divides():
    """Two labels as in an exclusive or; three as noise that val and test lack."""
    rng = np.random.default_rng(0)

    def corners(n):
        x = rng.choice([-1.0, 1.0], (n, 2))
        return x + 0.1 * rng.standard_normal((n, 2)), np.where(x.prod(1) > 0, 4, 0)

    parts = {"train": corners(6000), "val": corners(300), "test": corners(300)}
    x = {split: part[0] for split, part in parts.items()}
    y = {split: part[1] for split, part in parts.items()}
    y["train"][:30] = rng.integers(1, 4, 30)
    given = x, y["train"], np.ones(6000), y["val"], y["val"]
    line, _ = classify(*given, units=(False,), powers=(0.0,))
    layer, setting = classify(*given, units=(False,), powers=(0.0,), hiddens=(16,))
    assert accuracies(line["test"], y["test"])[1] < 70
    assert accuracies(layer["test"], y["test"])[1] > 95
    assert setting.hidden == 16


VOCABULARY = Vocabulary([*SPECIALS, "great", "bad", "film", "'s"], [0, 0, 0, 3, 1, 1, 1])
SENTENCES = Ragged(np.array([6, 3, 5, 4, 5]), np.array([0, 3, 5]))


def test_words_without_a_vector_start_from_their_company(tmp_path):
    (tmp_path / "v.txt").write_text("great 1 0\nbad -1 0\nfilm 0 1\n")
    words = start_words(str(tmp_path / "v.txt"), 2, VOCABULARY, SENTENCES)
    assert words.vectors_VK[3].tolist() == [1, 0] and words.coverage == 5 / 6
    mean = torch.tensor([0.0, 1 / 3])  # what a word without vector and company starts at
    torch.testing.assert_close(words.vectors_VK[1], mean)
    assert words.vectors_VK[6].isfinite().all() and not torch.allclose(words.vectors_VK[6], mean)


def test_without_a_file_words_start_at_random_and_alike_every_time():
    one, two = (start_words(None, 5, VOCABULARY, SENTENCES) for _ in range(2))
    assert one.vectors_VK.shape == (7, 5) and one.coverage == 0
    assert torch.equal(one.vectors_VK, two.vectors_VK) and one.vectors_VK.std() > 0.2


def test_vectors_of_another_dimension_are_refused(tmp_path):
    (tmp_path / "v.txt").write_text("great 1 0\n")
    with pytest.raises(AtdError, match=r"model\.K=7: .* holds vectors of dimension 2"):
        start_words(str(tmp_path / "v.txt"), 7, VOCABULARY, SENTENCES)


@pytest.mark.parametrize("row", ["atd-refined", "atd-best"])
def test_rows_that_build_on_the_tree_encoder_need_it(row):
    given = yaml.safe_load((CONF / "task" / "sentiment.yaml").read_text())["task"]
    assert row in read(Settings, given, "task").rows
    with pytest.raises(AtdError, match=f"task.rows: {row} starts from atd-tree; name both"):
        read(Settings, given | {"rows": ["binb", row]}, "task")
    with pytest.raises(AtdError, match=r"task.stack=\['atd-tree'\]"):
        read(Settings, given | {"stack": ["atd-tree"]}, "task")


@pytest.fixture(scope="module")
def little_treebank(tmp_path_factory) -> Path:
    """Sentences whose one adjective decides; dev and test pair words and frames anew."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "sst").mkdir()
    (folder / "vectors").mkdir()
    rng = np.random.default_rng(0)
    frames = ("it is {}", "a {} film", "the plot was {}", "what a {} cast", "film")

    def tree(words: list[str], value: dict[str, int]) -> str:
        if len(words) == 1:
            return f"({value.get(words[0], 2)} {words[0]})"
        label = next((value[w] for w in words if w in value), 2)
        cut = int(rng.integers(1, len(words)))
        return f"({label} {tree(words[:cut], value)} {tree(words[cut:], value)})"

    value = {w: 4 - i // 2 for i, w in enumerate(GOOD)} | {w: i // 2 for i, w in enumerate(BAD)}
    for split, n in {"train": 80, "dev": 40, "test": 40}.items():
        lines = []
        for _ in range(n):
            frame, word = frames[rng.integers(len(frames))], str(rng.choice(list(value)))
            lines.append(tree(frame.format(word).split(), value))
        (folder / "sst" / f"{split}.txt").write_text("\n".join(lines) + "\n")
    words = {w for f in frames for w in f.split()} - {"{}"} | set(value)
    rows = [f"{w} " + " ".join(f"{v:.3f}" for v in rng.standard_normal(6)) for w in sorted(words)]
    (folder / "vectors" / "v.txt").write_text("\n".join(rows) + "\n")
    return folder


SMALL = [
    "model.K=6",
    "model.F=6",
    "model.D=6",
    "task.seeds=1",
    "task.members=2",
    "task.workers=1",
    "task.tree.D=12",
    "task.tree.F=8",
    "task.tree.epochs=12",
    "task.tree.batch_size=8",
    "task.tree.lr=0.02",
    "task.tree.average=0.9",
    "task.tree.dropout=0.1",
    "task.tree.word_dropout=0.0",
    "task.context.epochs=1",
    "task.doc2vec.epochs=2",
    "task.doc2vec.infer_epochs=2",
    "trainer.max_epochs=1",
    "logger=none",
]


def command(folder: Path, out: Path, *settings: str) -> list[str]:
    places = [f"model.vectors={folder}/vectors/v.txt", f"paths.data={folder}", f"paths.cache={folder}/cache"]
    return ["task=sentiment", *SMALL, *places, f"hydra.run.dir={out}", *settings]


@pytest.fixture(scope="module")
def finished(little_treebank, tmp_path_factory) -> Path:
    """The folder of a run of all rows."""
    out = tmp_path_factory.mktemp("run")
    done = run_py(*command(little_treebank, out))
    assert done.returncode == 0, done.stderr[-3000:]
    return out


def test_every_row_end_to_end(finished):
    metrics = json.loads((finished / "metrics.json").read_text())
    rows = metrics["rows"]
    wanted = {"word-average", "mlp", "binb", "doc2vec", "lbl", "atd", "atd-best"}
    wanted |= {f"atd-{kind}" for kind in ("labels", "context", "tree", "refined")}
    assert wanted == set(rows) and metrics["primary_metric"] == "atd-best/fine"
    for row in rows.values():
        assert {"fine", "binary", "fine_dev", "binary_dev"} <= set(row) and row["seeds"] == 1
    assert rows["atd-best"]["binary"] > 90 and rows["atd-tree"]["binary"] > 85
    chosen = json.loads((finished / "settings.json").read_text())
    assert set(chosen) == set(rows) and "length_power" in chosen["atd"][0] and "power" in chosen["atd-labels"][0]
    assert chosen["atd-best"][0]["members"] == 2 and "binb" in chosen["atd-best"][0]
    page = (finished / "report.html").read_text()
    assert "an ensemble of supervised tree encoders" in page
    for title in (
        "What each row is",
        "Confusion",
        "Sentence map",
        "Nearest sentences",
        "Learning curves",
        "Chosen on dev",
    ):
        assert title in page


def test_the_protocol_of_the_paper_end_to_end(little_treebank, tmp_path):
    """Vectors as long as GloVe's: the default of SGD stays finite, x moves, and words decide as in their average."""
    rows = "task.rows=[word-average,atd-paper,atd-joint]"
    words = command(little_treebank, tmp_path, "experiment=sentiment_paper", rows, "trainer.max_epochs=3")
    done = run_py(*words[1:])
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads((tmp_path / "metrics.json").read_text())
    assert found["primary_metric"] == "atd-paper/fine" and set(found["rows"]) == set(rows[11:-1].split(","))
    chosen = json.loads((tmp_path / "settings.json").read_text())
    assert 0 < chosen["atd-paper"][0]["moved_train"] < 5 and 0 < chosen["atd-paper"][0]["moved_val"] < 5
    assert found["rows"]["atd-paper"]["binary_dev"] > 60
    assert found["rows"]["atd-paper"]["fine_dev"] == found["rows"]["atd-joint"]["fine_dev"]  # the same settings here
    curve = json.loads((tmp_path / "checkpoints" / "paper-0" / "finished.json").read_text())
    assert all(np.isfinite(epoch["val/perplexity"]) for epoch in curve)


def test_doc2vec_is_the_same_in_every_process(little_treebank, tmp_path):
    """Python's own hash of a word differs from process to process."""
    asked = {name: command(little_treebank, tmp_path / name, "task.rows=[doc2vec]") for name in ("here", "other")}
    other = os.environ | {"PYTHONHASHSEED": "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"}
    subprocess.run([sys.executable, "run.py", *asked["other"]], cwd=ROOT, env=other, check=True, capture_output=True)
    done = run_py(*asked["here"])
    assert done.returncode == 0, done.stderr[-3000:]
    found = [Store(tmp_path / name / "rows").load("doc2vec", 0).arrays for name in asked]
    assert set(found[0]) == {"logp_val", "logp_test", "x_val", "x_test"}
    assert all(np.array_equal(values, found[1][name]) for name, values in found[0].items())


def test_the_default_of_sgd_learns_on_the_sample(cache, tmp_path):
    small = (
        "trainer.max_epochs=2",
        "trainer.min_steps=0",
        "logger=none",
        f"paths.cache={cache}",
        f"hydra.run.dir={tmp_path}/run",
    )
    done = run_py("task=attributes", "data=treebank_sample", "data.sentences=100", "optim=sgd", *small)
    assert done.returncode == 0, done.stderr[-3000:]
    curves = list(tmp_path.glob("run/checkpoints/*/finished.json"))
    assert {path.parent.name for path in curves} >= {"atd", "lbl"}
    for path in curves:
        first, last = (epoch["val/perplexity"] for epoch in json.loads(path.read_text()))
        assert last < first, path.parent.name  # not so, too, where one is NaN


def test_a_checkpoint_knows_the_tokeniser_of_the_corpus(finished):
    """Texts that come later are read as the treebank was: at white space, numbers as they are."""
    saved = torch.load(finished / "checkpoints" / "atd-0" / "best.ckpt", weights_only=True)["atd"]
    assert saved["tokeniser"] == {"kind": "whitespace", "language": "en", "lowercase": True, "numbers": False}
    assert len(saved["attributes"]) == len(set(saved["attributes"][:-40])) + 40  # phrases, then the sentences of dev


def test_a_resumed_run_keeps_finished_rows(finished):
    """Two rows are lost: only they are run again, from their checkpoints, with the same result."""
    before = json.loads((finished / "metrics.json").read_text())["rows"]
    rows = finished / "rows"
    for name in ("atd-context-0", "atd-best-0"):
        (rows / f"{name}.npz").unlink()
    kept = {path.name: path.stat().st_mtime_ns for path in rows.glob("*.npz")}
    done = run_py(f"resume={finished}")
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads((finished / "metrics.json").read_text())["rows"] == before
    found = {path.name: path.stat().st_mtime_ns for path in rows.glob("*.npz")}
    assert set(found) - set(kept) == {"atd-context-0.npz", "atd-best-0.npz"}
    assert {name: found[name] for name in kept} == kept


@pytest.mark.parametrize("setting", ["data.attribute=label", "data.roots=true"])
def test_keys_that_the_rows_would_not_heed_are_refused(little_treebank, tmp_path, setting):
    done = run_py(*command(little_treebank, tmp_path, setting))
    assert done.returncode == 2 and "the rows of task=sentiment choose their texts" in done.stderr
