"""Whether what a report says is of data that a program made, so that its numbers say nothing about the world."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import OmegaConf

from atd.errors import AtdError

if TYPE_CHECKING:
    from omegaconf import DictConfig

MEASURES_TIME = ("benchmark",)  # tasks whose numbers are about the machine, whatever they read


def is_synthetic(cfg: DictConfig) -> bool:
    """Of a task that reads no corpus but shows a checkpoint, the data is what that was trained on."""
    if cfg.task.name in MEASURES_TIME:
        return False
    if reads_corpus(cfg) or not isinstance(cfg.checkpoint, str):
        return bool(OmegaConf.select(cfg, "data.sample"))
    return trained_on_sample(cfg.checkpoint)


def trained_on_sample(checkpoint: str) -> bool:
    """What the run folder says that a checkpoint lies in; one that was taken elsewhere says nothing."""
    from atd.models import find_checkpoint

    try:
        path = find_checkpoint(checkpoint)
    except AtdError:
        return False
    saved = next((folder / "config.yaml" for folder in around(path) if (folder / "config.yaml").is_file()), None)
    if saved is None:
        return False
    try:
        cfg: Any = OmegaConf.load(saved)
        return is_synthetic(cfg)
    except Exception:  # YAML's, OmegaConf's and those of text that is none have nothing in common
        return False


def reads_corpus(cfg: DictConfig) -> bool:
    """Whether the task looks at conf/data."""
    return bool(importlib.import_module(f"tasks.{cfg.task.name}").FITS.data)


def around(path: Path) -> list[Path]:
    """The folders in which the run folder of a checkpoint is looked for: checkpoints/<row>/best.ckpt."""
    return list(path.absolute().parents)[:3]
