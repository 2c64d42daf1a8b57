"""A training is asked to end: by Ctrl-C, by `kill`, or by a cluster that takes its machine back.

The step is finished and `last.ckpt` written first. Then the run ends (`tasks/engine/signals.py`). On a cluster the
handler that was there before goes on instead: submitit requeues a job on SIGUSR2, Slurm itself before or after
SIGTERM, and a requeued job finds its folder and resumes (`job.py`). A job that is killed without a signal goes on from
the last regular checkpoint.
"""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

from lightning.pytorch.callbacks import Callback

from tasks.engine.signals import stop
from tasks.learning.checkpoints import LAST, can_save

ENDING = (signal.SIGTERM, signal.SIGINT)
OF_SLURM = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


class Stopping(Callback):
    """Notes the signal during a step, saves when the step is whole, and lets the run end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.in_step = False
        self.noted: int | None = None
        self.before: dict[int, Any] = {}

    def on_train_start(self, trainer, module) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        slurm = "SLURM_JOB_ID" in os.environ
        if slurm and trainer.world_size > 1:
            return  # several would have to agree on a step; they have the regular checkpoints
        for signum in OF_SLURM if slurm else ENDING:
            self.before[signum] = signal.getsignal(signum) if slurm else stop  # Lightning's own would exit with 0
            signal.signal(signum, self.note if trainer.world_size == 1 else stop)

    def note(self, signum: int, frame: Any) -> None:
        if self.in_step and self.noted is None:
            self.noted = signum
        else:
            self.pass_on(signum)

    def on_train_batch_start(self, trainer, module, batch, batch_idx: int) -> None:
        self.in_step = True

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx: int) -> None:
        if (batch_idx + 1) % trainer.accumulate_grad_batches:
            return
        self.in_step = False
        if self.noted is None:
            return
        if can_save(trainer, batch_idx):
            trainer.save_checkpoint(self.folder / LAST)
            name = signal.Signals(self.noted).name
            print(f"{name}: saved step {trainer.global_step} to {self.folder}", flush=True)
        self.pass_on(self.noted)

    def on_train_end(self, trainer, module) -> None:
        if self.noted is not None:  # in the middle of a step that never became whole
            self.pass_on(self.noted)

    def pass_on(self, noted: int) -> None:
        """What would have happened at once."""
        self.noted = None
        signum = signal.SIGUSR2 if noted == signal.SIGUSR1 else noted  # of schedulers that warn with it: as submitit's
        then = self.before[signum]
        if callable(then):
            then(signum, None)
        elif then == signal.SIG_DFL:
            signal.signal(signum, signal.SIG_DFL)
            signal.raise_signal(signum)
