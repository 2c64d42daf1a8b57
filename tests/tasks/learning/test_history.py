"""What a training says while it goes on."""

from __future__ import annotations

import sys
from types import SimpleNamespace

from tasks.learning.training import History


def test_epochs_are_told_at_once_in_a_file_too(tmp_path, monkeypatch):
    """A process beside this one would else keep its lines until it ends, which is after the report."""
    trainer = SimpleNamespace(
        is_global_zero=True,
        max_epochs=3,
        num_training_batches=1000,
        current_epoch=0,
        callback_metrics={"val/perplexity": 8.5},
    )
    history = History("atd")
    with (tmp_path / "log").open("w") as log:
        monkeypatch.setattr(sys, "stdout", log)
        history.on_train_start(trainer, None)
        assert (tmp_path / "log").read_text() == "atd: 3 epochs of 1,000 steps at most\n"
        history.on_train_epoch_end(trainer, None)
        assert "val/perplexity 8.5" in (tmp_path / "log").read_text()
        monkeypatch.undo()
