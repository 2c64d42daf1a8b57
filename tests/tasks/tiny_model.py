"""A small random model in a checkpoint file, for the tasks that use a trained one."""

from __future__ import annotations

from pathlib import Path

import torch

from atd.models import build
from atd.vocabulary import Vocabulary

NAMES = ["bible-kjv", "blake-poems", "shakespeare-caesar", "shakespeare-hamlet", "m/30/<b>arts</b>", "../../etc/passwd"]
TEXT = "light lights night bright the a of and to in lord king ship sea whale she said was very . , ; child garden"
CONFIG = {  # for every model
    "name": "paper",
    "K": 12,
    "F": 14,
    "D": 6,
    "context": 3,
    "activation": "relu",
    "gate_bias": 0.0,
    "gated": True,
    "shrink": True,
    "free": 0,
    "dropout": 0.0,
    "additive": False,
    "sparse": False,
    "vectors": None,
}


def write_checkpoint(folder: Path, config: dict | None = None, names: list[str] = NAMES, languages: int = 1) -> Path:
    """A run folder with a model in it; with several languages each has its own words, marked by its number."""
    torch.manual_seed(0)
    config = CONFIG | (config or {})
    spelt = [[w + str(n or "") for w in TEXT.split()] for n in range(languages)]
    vocabularies = [Vocabulary.from_counts({w: 1000 - i for i, w in enumerate(words)}) for words in spelt]
    model = build(config, [len(v) for v in vocabularies], len(names))
    torch.nn.init.normal_(model.C, std=0.5)
    path = folder / "checkpoints" / "atd" / "best.ckpt"
    path.parent.mkdir(parents=True)
    states = [v.state() for v in vocabularies]
    saved = {"format": 1, "model": config, "vocabularies": states, "attributes": list(names), "optim": {}}
    saved["tokeniser"] = {"kind": "fast", "language": "en", "lowercase": True, "numbers": True}
    torch.save({"state_dict": {f"model.{k}": v for k, v in model.state_dict().items()}, "atd": saved}, path)
    return folder
