"""Checkpoints of a training: how Lightning writes them, and which one a resumed run goes on from.

The folder of a model holds `best.ckpt`, `last.ckpt`, `before.ckpt` (which was the last one earlier) and, once training
ended, `finished.json` with the learning curve. Any of them may be damaged. Training then goes on from the newest that
is whole, or from the start: it ends with the same bits either way.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from lightning import Trainer
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from lightning.pytorch.plugins.io import TorchCheckpointIO

from atd import checkpoint
from atd.errors import AtdError
from atd.files import explained

BEST, LAST, BEFORE, FINISHED = "best.ckpt", "last.ckpt", "before.ckpt", "finished.json"


class WholeFiles(TorchCheckpointIO):
    """Lightning's way to the disk: whole files only, and the last but one is kept."""

    def save_checkpoint(self, content: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        path = Path(path)
        if path.name == LAST and path.exists():
            keep(path)
        checkpoint.write(content, path)

    def load_checkpoint(self, path: Any, map_location: Any = None, weights_only: bool | None = None) -> dict[str, Any]:
        return checkpoint.read(path)


def keep(path: Path) -> None:
    """A second name for the file, which stays when the first is given to another."""
    before = path.with_name(BEFORE)
    with explained(before):
        before.unlink(missing_ok=True)
        try:
            os.link(path, before)
        except OSError:  # not every file system has links
            shutil.copyfile(path, before)


def can_save(trainer: Trainer, batch_idx: int) -> bool:
    """Whether a training that is saved after this batch goes on as it would have.

    Not in the middle of a step that takes several batches, and not after the last batch of an epoch: Lightning would go
    on with the next epoch, and forget to validate this one.
    """
    whole_step = (batch_idx + 1) % trainer.accumulate_grad_batches == 0
    return whole_step and not trainer.fit_loop.epoch_loop.batch_progress.is_last_batch


class Last(Callback):
    """Saves `last.ckpt` every so many steps, or as soon after as it can."""

    def __init__(self, folder: Path, every: int) -> None:
        self.path = folder / LAST
        self.every = every
        self.saved = 0  # the step

    def on_train_start(self, trainer, module) -> None:
        self.saved = trainer.global_step

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx: int) -> None:
        if trainer.global_step - self.saved >= self.every and can_save(trainer, batch_idx):
            trainer.save_checkpoint(self.path)
            self.saved = trainer.global_step


class Best(ModelCheckpoint):
    """Lightning's, in a folder that may have been moved since the state was saved."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        def here(path: str) -> str:
            return str(Path(self.dirpath or "") / Path(path).name) if path else path

        moved = {key: here(value) for key, value in state.items() if key.endswith("_path")}
        best = {here(path): score for path, score in state["best_k_models"].items()}
        super().load_state_dict({**state, **moved, "best_k_models": best, "dirpath": self.dirpath})


def curve_of(folder: Path) -> list[dict[str, float]] | None:
    """The learning curve of a training that ended; None of one that did not, or whose result is damaged."""
    path = folder / FINISHED
    if not path.exists() or whole_or_none(folder / BEST) is None:
        return None
    try:
        curve = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(curve, list) and all(isinstance(epoch, dict) for epoch in curve):
            return curve
    except ValueError:
        pass
    print(f"{path}: damaged; {folder.name} is trained on from its last checkpoint", flush=True)
    return None


def resume_point(folder: Path) -> Path | None:
    """The newest whole checkpoint to go on from; None = from the start."""
    for path in (folder / LAST, folder / BEFORE):
        if path.exists() and (content := whole_or_none(path)) is not None:
            if not expects_best(content) or whole_or_none(folder / BEST) is not None:
                return path
            print(f"{folder / BEST}: needed to go on; {folder.name} is trained from the start", flush=True)
            return None
    return None


def expects_best(content: dict[str, Any]) -> bool:
    """Whether weights had been kept as the best by then."""
    states = [state for state in content["callbacks"].values() if isinstance(state, dict)]
    return any(Path(state.get("best_model_path") or "").name == BEST for state in states)


def whole_or_none(path: Path) -> dict[str, Any] | None:
    """The content of a checkpoint, or a word about why it cannot be used."""
    try:
        return checkpoint.read(path)
    except AtdError as error:
        print(error, flush=True)
        return None
