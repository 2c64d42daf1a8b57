"""End a trial of a sweep early when its validation curve is worse than the median of the trials before it."""

from __future__ import annotations

import json
import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lightning.pytorch.callbacks import Callback

from atd.files import write_whole
from tasks.engine.sweep.search import curve

if TYPE_CHECKING:
    import optuna
    from omegaconf import DictConfig


def pruning(cfg: DictConfig, out: Path, name: str, monitor: str) -> list[Callback]:
    """The callback for the model a sweep watches; nothing for any other fit."""
    sweep = cfg.get("sweep")
    if sweep is None or sweep.trial is None or sweep.watch != name:
        return []
    return [Pruning(out, monitor, sweep)]


class Pruning(Callback):
    """Compares with the finished trials of earlier batches only, so that the verdict does not depend on who is first.

    The curve is kept in trial.json beside the run: a resumed trial goes on with it, and the sweep reads it.
    """

    def __init__(self, out: Path, monitor: str, sweep: DictConfig) -> None:
        self.out, self.monitor, self.sweep = out, monitor, sweep
        left = curve(out)
        self.values = {int(k): v for k, v in left["values"].items()}
        self.since = time.monotonic() - left["seconds"]

    def on_validation_end(self, trainer, module) -> None:
        import optuna

        epoch = trainer.current_epoch
        self.values[epoch] = float(trainer.callback_metrics[self.monitor])
        pruned = trainer.strategy.broadcast(self.hopeless(epoch) if trainer.is_global_zero else False)
        if trainer.is_global_zero:
            left = {"values": self.values, "pruned": pruned, "seconds": time.monotonic() - self.since}
            write_whole(self.out / "trial.json", json.dumps(left))
        if pruned:
            raise optuna.TrialPruned(f"trial {self.sweep.trial} ended after epoch {epoch}")

    def hopeless(self, epoch: int) -> bool:
        import optuna

        s = self.sweep
        pruner = optuna.pruners.MedianPruner(n_startup_trials=s.grace, n_warmup_steps=s.warmup, n_min_trials=s.grace)
        state = optuna.trial.TrialState.RUNNING
        upto = {k: v for k, v in self.values.items() if k <= epoch}
        return bool(pruner.prune(self.earlier, optuna.trial.create_trial(state=state, intermediate_values=upto)))

    @cached_property
    def earlier(self) -> optuna.Study:
        """The trials to compare with, in memory: they stay the same for the whole of a trial."""
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        s = self.sweep
        study = optuna.load_study(study_name="sweep", storage=f"sqlite:///{self.out.parent.absolute() / 'study.db'}")
        copy = optuna.create_study(direction=s.direction)
        copy.add_trials(study.trials[: s.trial - s.trial % s.parallel])
        return copy
