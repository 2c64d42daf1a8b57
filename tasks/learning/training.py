"""One function that fits any LightningModule of ours: trainer, checkpoints, early stopping, resume."""

from __future__ import annotations

import copy
import json
import math
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lightning
import torch
from lightning.pytorch.callbacks import Callback, EarlyStopping, RichProgressBar

from atd import checkpoint
from atd.errors import AtdError
from atd.files import write_whole
from tasks.engine import processes
from tasks.engine.precision import precision_of
from tasks.engine.quiet import quieten
from tasks.engine.sweep.pruning import pruning
from tasks.engine.wording import counted
from tasks.learning.checkpoints import BEST, FINISHED, Best, Last, WholeFiles, curve_of, resume_point
from tasks.learning.stopping import Stopping

if TYPE_CHECKING:
    from omegaconf import DictConfig

LOGGED = 20  # steps between two points of the training loss


def tell(line: str) -> None:
    """At once, in a file as well, where lines of a worker's would else follow the report."""
    print(line, flush=True)


class History(Callback):
    """The learning curve, kept in the checkpoint so that a resumed run draws the whole of it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.epochs: list[dict[str, float]] = []
        self.since = time.monotonic()

    def on_train_start(self, trainer, module) -> None:
        if trainer.is_global_zero:
            done = f", {trainer.current_epoch} of them done" if trainer.current_epoch else ""
            epochs = counted(trainer.max_epochs, "epoch")
            tell(f"{self.name}: {epochs} of {counted(trainer.num_training_batches, 'step')} at most{done}")

    def on_train_epoch_start(self, trainer, module) -> None:
        self.since = time.monotonic()

    def on_train_epoch_end(self, trainer, module) -> None:
        metrics = {k: float(v) for k, v in trainer.callback_metrics.items()}
        self.epochs.append({"epoch": trainer.current_epoch, **metrics})
        if trainer.is_global_zero:
            shown = "  ".join(f"{k} {v:.4g}" for k, v in sorted(metrics.items()))
            tell(f"{self.name} epoch {trainer.current_epoch + 1}: {shown}  ({time.monotonic() - self.since:.1f} s)")

    def state_dict(self) -> dict[str, Any]:
        return {"epochs": self.epochs}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.epochs = state["epochs"]


class Bar(RichProgressBar):
    """Names the model that is being trained."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def _get_train_description(self, current_epoch: int) -> str:
        return f"{self.name}: epoch {current_epoch + 1} of {self.trainer.max_epochs}"

    @property
    def validation_description(self) -> str:
        return f"{self.name}: validation"


class Finite(Callback):
    """Stops a training whose loss is no longer a number, before anything of it is saved."""

    def __init__(self, name: str, monitor: str) -> None:
        self.name = name
        self.monitor = monitor

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx) -> None:
        if module.device.type == "cpu" or trainer.global_step % LOGGED == 0:  # to look would hold up a GPU
            self.check(float(outputs["loss"]), "the loss", trainer, f", batch {batch_idx}")

    def on_validation_end(self, trainer, module) -> None:
        if self.monitor in trainer.callback_metrics:
            self.check(float(trainer.callback_metrics[self.monitor]), self.monitor, trainer)

    def on_save_checkpoint(self, trainer, module, checkpoint) -> None:
        for name, weights in checkpoint["state_dict"].items():
            if weights.is_floating_point() and not weights.isfinite().all():
                self.check(math.nan, name.removeprefix("model."), trainer)

    def check(self, value: float, what: str, trainer: lightning.Trainer, place: str = "") -> None:
        if not math.isfinite(value):
            when = f"step {trainer.global_step} (epoch {trainer.current_epoch}{place})"
            fix = "training diverged; take a smaller optim.lr. Nothing of this was saved"
            raise AtdError(f"{self.name}: {what} is {value} at {when}: {fix}")


def fit(
    module: lightning.LightningModule,
    data: lightning.LightningDataModule,
    cfg: DictConfig,
    out: Path,
    name: str,
    monitor: str = "val/perplexity",
    mode: str = "min",
    callbacks: tuple[Callback, ...] = (),
) -> list[dict[str, float]]:
    """Fit and leave the best weights in `module`; returns the learning curve, one dict per epoch.

    Checkpoints go to out/checkpoints/<name>. When the run is a resumed one, training continues from the last
    of them; a model whose training had ended is only loaded.
    """
    folder = out / "checkpoints" / name
    if cfg.resume and (curve := curve_of(folder)) is not None:
        load_weights(module, folder / BEST)
        return curve
    start = resume_point(folder) if cfg.resume else None
    data.trainer = None  # the one before, if any: not for other processes
    trained = copy.deepcopy(module) if cfg.trainer.strategy == "fsdp" else module  # FSDP leaves pieces of the weights
    epochs = epochs_of(cfg, data)
    curve = processes.together(train, trained, data, cfg, epochs, folder, start, name, monitor, mode, callbacks)
    data.trainer = None  # from here on the loaders serve this process alone
    write_whole(folder / FINISHED, json.dumps(curve, indent=1))
    load_weights(module, folder / BEST)
    return curve


def epochs_of(cfg: DictConfig, data: lightning.LightningDataModule) -> int:
    """trainer.max_epochs; of a small corpus as many as make up trainer.min_steps."""
    t = cfg.trainer
    if not t.min_steps:
        return t.max_epochs
    steps = max(len(data.train_dataloader()) // t.accumulate, 1)
    return max(t.max_epochs, -(-t.min_steps // steps))


def train(
    module: lightning.LightningModule,
    data: lightning.LightningDataModule,
    cfg: DictConfig,
    epochs: int,
    folder: Path,
    start: Path | None,
    name: str,
    monitor: str,
    mode: str,
    callbacks: tuple[Callback, ...],
) -> list[dict[str, float]]:
    """Train on this process, alone or as one of several, from the checkpoint `start`. New ones go to `folder`."""
    if cfg.trainer.threads:
        torch.set_num_threads(cfg.trainer.threads)
    history = History(name)
    best = Best(
        folder, filename="best", monitor=monitor, mode=mode, enable_version_counter=False, save_on_train_epoch_end=False
    )
    last = Last(folder, cfg.trainer.checkpoint_every)
    stopping = EarlyStopping(monitor, mode=mode, patience=cfg.trainer.patience)
    bar = [Bar(name)] if sys.stderr.isatty() else []
    out = folder.parent.parent
    interrupts = [Finite(name, monitor), *pruning(cfg, out, name, monitor), Stopping(folder)]
    trainer = build_trainer(cfg, epochs, out, name, [history, stopping, best, last, *bar, *interrupts, *callbacks])
    trainer.fit(module, data, ckpt_path=start, weights_only=True)
    return history.epochs


def build_trainer(cfg: DictConfig, epochs: int, out: Path, name: str, callbacks: list[Callback]) -> lightning.Trainer:
    quieten()
    t, n = cfg.trainer, processes.world_size()
    return lightning.Trainer(
        accelerator=t.accelerator,
        devices=n // t.num_nodes,
        num_nodes=t.num_nodes,
        strategy=build_strategy(t.strategy, n),
        precision=precision_of(t),
        max_epochs=epochs,
        accumulate_grad_batches=t.accumulate,
        callbacks=callbacks,
        plugins=[WholeFiles()],
        logger=build_logger(cfg, out, name),
        default_root_dir=out,
        enable_progress_bar=any(isinstance(c, RichProgressBar) for c in callbacks),
        enable_model_summary=False,
        use_distributed_sampler=False,  # our loaders divide themselves
        num_sanity_val_steps=0,  # would move the loader and the metric before a resumed epoch
        log_every_n_steps=LOGGED,
        inference_mode=t.strategy != "fsdp",  # shards cannot be gathered into inference tensors
    )


def build_strategy(name: str, n: int):
    """conf/trainer's strategy for n processes; with fsdp the module's `configure_model` says what is sharded."""
    from lightning.pytorch.strategies import DDPStrategy, ModelParallelStrategy

    if n == 1:
        return "auto"
    if name == "fsdp":
        return ModelParallelStrategy(data_parallel_size=n, tensor_parallel_size=1, save_distributed_checkpoint=False)
    return DDPStrategy(broadcast_buffers=False, gradient_as_bucket_view=True)  # our buffers are constants


def build_logger(cfg: DictConfig, out: Path, name: str):
    """conf/logger: csv, tensorboard, wandb or none."""
    from lightning.pytorch import loggers

    kind = cfg.logger.name
    if kind == "csv":
        return loggers.CSVLogger(out, name="csv", version=name)
    if kind == "tensorboard":
        try:
            return loggers.TensorBoardLogger(out, name="tensorboard", version=name)
        except ModuleNotFoundError:
            raise AtdError("logger=tensorboard: needs the package; pip install -e '.[tensorboard]'") from None
    if kind == "wandb" and processes.rank() > 0:
        return loggers.logger.DummyLogger()  # the job has one run
    if kind == "wandb":
        from tasks.engine.wandb import wandb_logger

        return wandb_logger(out, name)
    return False


def load_weights(module: lightning.LightningModule, path: Path) -> None:
    module.load_state_dict(checkpoint.read(path)["state_dict"])
