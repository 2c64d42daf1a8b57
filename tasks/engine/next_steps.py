"""What a reader of the report may do with the model that the run has left: commands that can be pasted."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.engine.overrides import quoted

if TYPE_CHECKING:
    from omegaconf import DictConfig

EXPLORED = ("atd", "paper")  # models that `task=explore` shows


def next_steps(cfg: DictConfig, out: Path) -> list[tuple[str, str]]:
    """What, and the command; nothing where no such model was trained."""
    if cfg.model.name not in EXPLORED or not (out / "checkpoints" / "atd" / "best.ckpt").is_file():
        return []
    plain = re.fullmatch(r"[\w./-]+", str(out))
    checkpoint = f"checkpoint={out}" if plain else shlex.quote(f"checkpoint={quoted(str(out))}")
    return [
        ("Play with the model: its map, mixes of attributes, neighbours of words.", command("explore", checkpoint)),
        ("Draw its attributes again, as a map and as a tree.", command("maps", checkpoint)),
        ("Take its vectors to gensim, Parquet or safetensors.", command("export", checkpoint)),
    ]


def command(task: str, checkpoint: str) -> str:
    return f"python run.py task={task} {checkpoint}"
