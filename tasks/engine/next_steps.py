"""What a reader of the report may do with the model that the run has left: commands that can be pasted."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from atd import checkpoint
from atd.errors import AtdError
from tasks.engine.overrides import quoted

if TYPE_CHECKING:
    from omegaconf import DictConfig

EXPLORED = ("atd", "paper")  # models that `task=explore` shows
MAPPED = 3  # attributes from which on `task=maps` draws them
MODEL = Path("checkpoints") / "atd" / "best.ckpt"


def next_steps(cfg: DictConfig, out: Path) -> list[tuple[str, str]]:
    """What, and the command; nothing where no such model was trained."""
    if cfg.model.name not in EXPLORED or not (out / MODEL).is_file():
        return []
    plain = re.fullmatch(r"[\w./-]+", str(out))
    place = f"checkpoint={out}" if plain else shlex.quote(f"checkpoint={quoted(str(out))}")
    steps = [("Play with the model: its map, mixes of attributes, neighbours of words.", "explore")]
    if attributes_in(out / MODEL) >= MAPPED:
        steps.append(("Draw its attributes again, as a map and as a tree.", "maps"))
    steps.append(("Take its vectors to gensim, Parquet or safetensors.", "export"))
    return [(what, command(task, place)) for what, task in steps]


def attributes_in(path: Path) -> int:
    """Of a model; none where the file cannot be read."""
    try:
        return len(checkpoint.read(path)["atd"]["attributes"])
    except (AtdError, KeyError):
        return 0


def command(task: str, place: str) -> str:
    return f"python run.py task={task} {place}"
