"""A small random model in a checkpoint file, for the tasks that use a trained one."""

from __future__ import annotations

from pathlib import Path

import torch

from atd.vocabulary import Vocabulary
from tasks.models import build

NAMES = ["bible-kjv", "blake-poems", "shakespeare-caesar", "shakespeare-hamlet", "m/30/<b>arts</b>", "../../etc/passwd"]
TEXT = "light lights night bright the a of and to in lord king ship sea whale she said was very . , ; child garden"
CONFIG = {
    "name": "atd",
    "K": 12,
    "F": 14,
    "D": 6,
    "context": 3,
    "activation": "relu",
    "gate_bias": 0.0,
    "dropout": 0.0,
    "additive": False,
    "sparse": False,
    "vectors": None,
}


def write_checkpoint(folder: Path, config: dict | None = None, names: list[str] = NAMES) -> Path:
    """A run folder with a model in it."""
    torch.manual_seed(0)
    config = CONFIG | (config or {})
    vocabulary = Vocabulary.from_counts({w: 1000 - i for i, w in enumerate(TEXT.split())})
    model = build(config, [len(vocabulary)], len(names))
    torch.nn.init.normal_(model.C, std=0.5)
    path = folder / "checkpoints" / "atd" / "best.ckpt"
    path.parent.mkdir(parents=True)
    saved = {"format": 1, "model": config, "vocabularies": [vocabulary.state()], "attributes": list(names), "optim": {}}
    torch.save({"state_dict": {f"model.{k}": v for k, v in model.state_dict().items()}, "atd": saved}, path)
    return folder
