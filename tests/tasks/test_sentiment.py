"""The sentiment task: its arithmetic on hand-made numbers, and the whole of it on a handful of trees."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from tasks.sentiment import summary
from tasks.sentiment.encoder import joint
from tasks.sentiment.scores import accuracies, classify, confusion
from tasks.sentiment.study import Outcome, load, save

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

    vectors = {"train": x(label), "dev": x(sentences), "test": x(sentences)}
    logp, setting = classify(vectors, label, np.ones(4000), sentences, sentences, units=(False,), powers=(0.0,))
    fine, binary = accuracies(logp["test"], sentences)
    assert fine > 70 and binary > 98 and not setting.unit


def test_outcomes_survive_the_disk(tmp_path):
    made = Outcome({"dev": np.ones((2, 5)), "test": np.zeros((3, 5))}, {"dev": np.eye(2)}, {"power": 1.0}, [{"e": 1.0}])
    save(tmp_path / "a.npz", made)
    found = load(tmp_path / "a.npz")
    assert found.facts == made.facts and found.curve == made.curve
    np.testing.assert_array_equal(found.logp["test"], made.logp["test"])
    np.testing.assert_array_equal(found.x["dev"], made.x["dev"])


def test_summary_gives_mean_and_spread():
    row = summary([{"fine": 40.0}, {"fine": 42.0}])
    assert row == {"fine": 41.0, "fine_sd": pytest.approx(2**0.5), "seeds": 2}


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


def test_every_row_end_to_end(little_treebank, tmp_path):
    small = ["model.K=6", "model.F=6", "model.D=6", f"model.vectors={little_treebank}/vectors/v.txt"]
    small += ["task.seeds=1", "task.members=2", "task.workers=1", "task.tree.D=12", "task.tree.F=8"]
    small += ["task.tree.epochs=12", "task.tree.batch_size=8", "task.tree.lr=0.02"]
    small += ["task.tree.average=0.9", "task.tree.dropout=0.1"]
    small += ["task.tree.word_dropout=0.0", "task.doc2vec.epochs=2", "task.doc2vec.infer_epochs=2"]
    small += ["task.context.epochs=1"]
    small += ["trainer.max_epochs=1", "logger=none", f"paths.data={little_treebank}", f"hydra.run.dir={tmp_path}"]
    done = subprocess.run(
        [sys.executable, "run.py", "task=sentiment", *small], cwd=ROOT, capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stderr[-3000:]
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    rows = metrics["rows"]
    wanted = {"word-average", "binb", "doc2vec", "lbl", "atd", "atd-best"}
    wanted |= {f"atd-{kind}" for kind in ("labels", "context", "tree", "refined")}
    assert wanted <= set(rows) and metrics["primary_metric"] == "atd-best/fine"
    for row in rows.values():
        assert {"fine", "binary", "fine_dev", "binary_dev"} <= set(row)
    assert rows["atd-best"]["binary"] > 90 and rows["atd-tree"]["binary"] > 85
    chosen = json.loads((tmp_path / "settings.json").read_text())
    assert set(chosen) == set(rows) and "length_power" in chosen["atd"][0] and "power" in chosen["atd-labels"][0]
    page = (tmp_path / "report.html").read_text()
    for title in ("Confusion", "Sentence map", "Nearest sentences", "Learning curves perplexity", "Chosen on dev"):
        assert title in page
