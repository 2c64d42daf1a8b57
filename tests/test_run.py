"""run.py as a user runs it: the tour recovers what the sample books hide, and survives a kill to the bit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from datamodules.sample import similar_books
from tasks.models import load

ROOT = Path(__file__).parent.parent
SMALL = ["model.K=24", "model.F=24", "model.D=8", "optim.samples=300", "trainer.threads=1"]


def command(out: Path, *overrides: str) -> list[str]:
    return [sys.executable, "run.py", f"hydra.run.dir={out}", *SMALL, *overrides]


def run(out: Path, *overrides: str) -> subprocess.CompletedProcess:
    done = subprocess.run(command(out, *overrides), cwd=ROOT, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr[-3000:]
    return done


@pytest.fixture(scope="module")
def tour(tmp_path_factory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("tour") / "run"
    return out, run(out).stdout


def test_the_gate_beats_its_baselines(tour):
    rows = json.loads((tour[0] / "metrics.json").read_text())["rows"]
    atd, lbl, trigram = (rows[name]["perplexity"] for name in ("atd", "lbl", "trigram"))
    assert atd < 0.95 * lbl and atd < 0.95 * trigram, rows


def test_books_by_one_author_are_nearest(tour):
    trained = load(tour[0])
    x = torch.nn.functional.normalize(trained.model.attributes.vectors().detach(), dim=1)
    cosine = x @ x.T - 2 * torch.eye(len(x))
    nearest = {trained.attributes[i]: trained.attributes[int(j)] for i, j in enumerate(cosine.argmax(1))}
    right = sum((nearest[a] == b) + (nearest[b] == a) for a, b in similar_books())
    assert right >= 0.75 * len(trained.attributes), nearest


def test_a_run_leaves_everything(tour):
    out, stdout = tour
    names = ("config.yaml", "metrics.json", "report.html", "versions.json", "checkpoints/atd/best.ckpt")
    for name in (*names, "figures/attribute_map.png", "figures/learning_curves.png", "csv/atd/metrics.csv"):
        assert (out / name).stat().st_size > 0, name
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["primary_metric"] == "atd/perplexity" and metrics["value"] == metrics["rows"]["atd"]["perplexity"]
    versions = json.loads((out / "versions.json").read_text())
    assert versions["seed"] == "0" and "torch 2.13" in versions["versions"] and versions["revision"]
    assert stdout.splitlines()[-1] == f"report: {out}/report.html"
    assert "trigram" in stdout and "lbl" in stdout


def weights(out: Path, name: str) -> dict[str, torch.Tensor]:
    return torch.load(out / f"checkpoints/{name}/best.ckpt", weights_only=True)["state_dict"]


def kill_when(out: Path, marker: str, seconds: float, *overrides: str) -> None:
    """Start a run and kill it the hard way a little after a file appears."""
    process = subprocess.Popen(command(out, *overrides), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 200
    while not (out / marker).exists():
        assert process.poll() is None and time.monotonic() < deadline, "the run ended before it could be killed"
        time.sleep(0.02)
    time.sleep(seconds)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (out / "metrics.json").exists()


@pytest.mark.parametrize(
    ("marker", "seconds"),
    [("checkpoints/atd/last.ckpt", 0.3), ("checkpoints/lbl/last.ckpt", 0.0)],
    ids=["in the first model", "in the second"],
)
def test_a_killed_run_resumes_to_the_same_bits(tmp_path, marker, seconds):
    quick = ["trainer.max_epochs=3", "trainer.checkpoint_every=7", "model.dropout=0.1"]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    run(whole, *quick)
    kill_when(broken, marker, seconds, *quick)
    step = torch.load(broken / marker, weights_only=True)["global_step"]
    done = subprocess.run(
        [sys.executable, "run.py", f"resume={broken}"], cwd=ROOT, capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stderr[-3000:]
    for name in ("atd", "lbl"):
        a, b = weights(whole, name), weights(broken, name)
        assert a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)
    rows = [json.loads((out / "metrics.json").read_text())["rows"] for out in (whole, broken)]
    assert rows[0] == rows[1]
    assert step % 7 == 0  # the kill did fall between epoch ends
    refused = subprocess.run(
        [sys.executable, "run.py", f"resume={broken}", "model.F=3"], cwd=ROOT, capture_output=True, text=True
    )
    assert refused.returncode == 2 and "model.F=3 cannot be set with it" in refused.stderr
