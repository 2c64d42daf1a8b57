"""A run that is asked to end says how to go on, and ends with the code of the signal."""

from __future__ import annotations

import signal
import time

from tasks.engine.signals import Stopped, how_to_go_on
from tests.program import Program

ENDLESS = ["model.K=8", "model.F=8", "model.D=3", "logger=none"]
ENDLESS += ["trainer.max_epochs=100000", "trainer.patience=100000", "trainer.checkpoint_every=3"]


def test_a_training_that_is_asked_to_end_says_how_to_go_on(places, tmp_path):
    out = tmp_path / "a run"
    given = [*places, *ENDLESS, f"paths.cache={tmp_path / 'cache'}", f"hydra.run.dir='{out}'"]
    run = Program(*given)
    while not (out / "checkpoints/atd/last.ckpt").exists():
        assert run.running(), run.wait()
        time.sleep(0.05)
    run.end(signal.SIGTERM)
    done = run.wait(20)
    assert done.returncode == 143
    assert done.stderr.splitlines()[-1] == f"stopped by SIGTERM; this continues the run: python run.py 'resume={out}'"


def test_before_anything_was_written_there_is_nothing_to_continue(tmp_path):
    assert how_to_go_on(Stopped(15), tmp_path) == "stopped by SIGTERM before there was anything to continue"
