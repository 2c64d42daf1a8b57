"""Checkpoints of a training: a kill or a damaged file costs some steps at most."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from atd import checkpoint
from tasks.learning.checkpoints import BEFORE, BEST, FINISHED, LAST, Best, WholeFiles, curve_of, resume_point

ROOT = Path(__file__).parents[3]
KILLED = """
import os, signal, sys, torch
from tasks.learning.checkpoints import WholeFiles

def half(content, path):
    open(path, "wb").write(b"PK half of a file")
    os.kill(os.getpid(), signal.SIGKILL)

torch.save = half
WholeFiles().save_checkpoint({"step": 2}, sys.argv[1])
"""


def state(best: str = "") -> dict:
    return {"callbacks": {"ModelCheckpoint": {"best_model_path": best}}}


@pytest.fixture
def folder(tmp_path) -> Path:
    """Three checkpoints in, after some weights were the best."""
    files = WholeFiles()
    files.save_checkpoint({"weights": torch.ones(9)}, tmp_path / BEST)
    for step in (1, 2, 3):
        files.save_checkpoint({"step": step, **state("elsewhere/best.ckpt")}, tmp_path / LAST)
    return tmp_path


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def test_a_kill_while_saving_leaves_the_checkpoint_that_was_there(tmp_path):
    path = tmp_path / LAST
    WholeFiles().save_checkpoint({"step": 1}, path)
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], cwd=ROOT, timeout=60)
    assert done.returncode == -9
    assert checkpoint.read(path) == {"step": 1}


def test_the_last_but_one_is_kept(folder):
    assert checkpoint.read(folder / LAST)["step"] == 3 and checkpoint.read(folder / BEFORE)["step"] == 2
    assert sorted(path.name for path in folder.iterdir()) == sorted([BEST, BEFORE, LAST])


def test_training_goes_on_from_the_newest_that_is_whole(folder, capsys):
    assert resume_point(folder) == folder / LAST
    cut(folder / LAST)
    assert resume_point(folder) == folder / BEFORE
    assert f"{folder / LAST}: the checkpoint is damaged" in capsys.readouterr().out
    cut(folder / BEFORE)
    assert resume_point(folder) is None


def test_without_the_best_weights_training_starts_again(folder, capsys):
    cut(folder / BEST)
    assert resume_point(folder) is None
    assert "trained from the start" in capsys.readouterr().out
    WholeFiles().save_checkpoint({"step": 1, **state()}, folder / LAST)  # before any weights were the best
    assert resume_point(folder) == folder / LAST


@pytest.mark.parametrize("content", ["", "[", "{}", "[1]", '{"epoch": 0}'])
def test_a_damaged_curve_is_not_an_end(folder, content):
    (folder / FINISHED).write_text('[{"epoch": 0}]')
    assert curve_of(folder) == [{"epoch": 0}]
    (folder / FINISHED).write_text(content)
    assert curve_of(folder) is None


def test_an_end_without_its_weights_is_none(folder):
    (folder / FINISHED).write_text('[{"epoch": 0}]')
    cut(folder / BEST)
    assert curve_of(folder) is None


def test_a_moved_folder_remembers_its_best(tmp_path):
    """Lightning forgets the best score when the folder has another name; then worse weights would be kept."""
    saved = Best(tmp_path / "old", filename="best", monitor="loss")
    path, score = str(tmp_path / "old" / BEST), torch.tensor(0.5)
    saved.best_model_path, saved.best_model_score = path, score
    saved.best_k_models, saved.kth_best_model_path = {path: score}, path
    moved = Best(tmp_path / "new", filename="best", monitor="loss")
    moved.load_state_dict(saved.state_dict())
    assert moved.best_model_score == 0.5 and moved.best_model_path == str(tmp_path / "new" / BEST)
    assert list(moved.best_k_models) == [moved.best_model_path] == [moved.kth_best_model_path]
