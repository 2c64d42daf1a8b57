"""A cluster takes its machine back: save where training is, then let the job be requeued.

Submitit requeues a job on SIGUSR2, Slurm itself before or after SIGTERM; neither waits for a step to end. This
callback does: the signal is noted, `last.ckpt` is written when the step is whole, and the handler that was there
before goes on. A requeued job finds its folder and resumes (`job.py`). Signals that come outside training take
their usual way, and a job that is killed without one goes on from the last regular checkpoint.
"""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

from lightning.pytorch.callbacks import Callback

SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


class Preemption(Callback):
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.noted: int | None = None
        self.before: dict[int, Any] = {}

    def on_train_start(self, trainer, module) -> None:
        alone = trainer.world_size == 1  # several would have to agree on a step; they have the regular checkpoints
        if "SLURM_JOB_ID" in os.environ and alone and threading.current_thread() is threading.main_thread():
            self.before = {s: signal.getsignal(s) for s in SIGNALS}
            for s in SIGNALS:
                signal.signal(s, self.note)

    def note(self, signum: int, frame) -> None:
        self.noted = signum

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx: int) -> None:
        if self.noted is not None and (batch_idx + 1) % trainer.accumulate_grad_batches == 0:
            trainer.save_checkpoint(self.folder / "last.ckpt")
            name = signal.Signals(self.noted).name
            print(f"{name}: saved step {trainer.global_step} to {self.folder}", flush=True)
            self.pass_on()

    def on_train_end(self, trainer, module) -> None:
        if self.noted is not None:
            self.pass_on()  # Lightning puts the handlers back when a fit ends, however it does

    def pass_on(self) -> None:
        """What would have happened at once."""
        noted, self.noted = self.noted, None
        assert noted is not None
        signum = signal.SIGUSR2 if noted == signal.SIGUSR1 else noted  # of schedulers that warn with it: as submitit's
        then = self.before[signum]
        if callable(then):
            then(signum, None)
        elif then == signal.SIG_DFL:
            signal.signal(signum, signal.SIG_DFL)
            signal.raise_signal(signum)
