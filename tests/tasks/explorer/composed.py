"""Small random models whose x is a sum over columns, one of them of numbers, and effects to go with them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from atd.design import Column, Design
from atd.models import load
from tests.tasks.tiny_model import CONFIG, write_checkpoint

NAMED = [Column("age", ["20s", "30–39"]), Column("gender", ["female", "male", "<b>x</b>"])]
NUMBERED = [NAMED[1], Column("year", ["1990", "2000", "2010", "missing"], [1990.0, 2000.0, 2010.0])]


def effect(word: str, effect: float, low: float, high: float, q: float, documents: list[int]) -> dict[str, Any]:
    return {"word": word, "effect": effect, "low": low, "high": high, "p": q, "q": q, "documents": documents}


EFFECTS = {
    "columns": [
        {
            "name": "gender",
            "values": ["female", "male"],
            "words": [
                effect("ship", 0.1, -0.1, 0.3, 0.5, [8, 6]),
                effect("<i>sea</i>", 0.4, 0.3, 0.5, 0.0, [9, 7]),
            ],
        }
    ]
}
ALONG_YEARS = {
    "columns": [
        *EFFECTS["columns"],
        {
            "name": "year",
            "values": ["low", "high"],
            "number": True,
            "words": [
                effect("king", 0.05, -0.02, 0.12, 0.3, [40]),
                effect("whale", 0.35, 0.2, 0.5, 0.01, [1234]),
            ],
        },
    ]
}


def write_composed(
    folder: Path,
    terms: Sequence[tuple[int, ...]] = ((0,), (1,)),
    effects: dict | None = None,
    columns: list[Column] = NAMED,
) -> Path:
    """A random model, with as much text of each attribute as its number says."""
    codes = [np.array(list(np.ndindex(*(len(columns[q].values) for q in term))), np.int32) for term in terms]
    A = sum(map(len, codes))
    design = Design(columns, list(terms), codes, np.arange(1.0, A + 1) * 100)
    folder = write_checkpoint(folder, CONFIG | {"name": "atd"}, names=design.names)
    trained = load(folder)
    trained.design = design
    trained.model.attributes.centre(torch.from_numpy(design.words_A), torch.from_numpy(design.term_A))
    torch.nn.init.normal_(trained.model.attributes.L)
    trained.save(folder / "checkpoints" / "atd" / "best.ckpt")
    if effects is not None:
        (folder / "effects.json").write_text(json.dumps(effects), encoding="utf-8")
    return folder
