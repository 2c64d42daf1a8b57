"""The words that differ most between values of a column, or along a column of numbers.

With `effects.json` in the run folder: effects with intervals and counts of documents. Without it: how far the
neighbours of frequent words move from one value to the other, which has no interval and may be noise.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import torch

from atd.errors import AtdError
from atd.neighbours import rank_shift, unit
from atd.trained import Trained
from atd.vocabulary import SPECIALS
from tasks.explore.asked import number

FILE = "effects.json"
MOST_BYTES = 50_000_000
SHOWN = 200  # words of a list
TIMES = 20  # that a word must occur to be ranked without an interval
SURE = 0.05  # share of false finds that is borne among the words that surely differ
RANKED = 500  # words that are ranked, the most frequent


class Differences:
    """What the file of a run says, and what the model itself says where the file says nothing."""

    def __init__(self, trained: Trained, folder: Path | None = None):
        self.trained = trained
        self.columns, self.note = read(folder)

    def describe(self) -> list[dict[str, Any]]:
        return [{**column, "words": len(column["words"])} for column in self.columns]

    def measured(self, i: Any) -> dict[str, Any]:
        """Words of one entry of the file."""
        column = self.columns[int(number(i, "entry", 0, len(self.columns) - 1))]
        return {"kind": "effects", **column, "words": column["words"][:SHOWN], "total": len(column["words"])}

    @torch.inference_mode()
    def shifted(self, x_a: torch.Tensor, x_b: torch.Tensor) -> dict[str, Any]:
        """Frequent words whose neighbours move most between two vectors."""
        if torch.equal(x_a, x_b):
            raise AtdError("choose two different values")
        vocabulary, model = self.trained.vocabulary, self.trained.model
        often = [
            i
            for i in range(len(SPECIALS), len(vocabulary))
            if vocabulary.counts[i] >= TIMES and any(map(str.isalpha, vocabulary.words[i]))
        ]
        often = sorted(often, key=lambda i: -vocabulary.counts[i])[:RANKED]
        if not often:
            raise AtdError(f"no word occurs {TIMES} times: too little text to rank words")
        unit_a, unit_b = (unit(model.embeddings(x)) for x in (x_a, x_b))
        shift = rank_shift(unit_a, unit_b, torch.tensor(often))
        best = shift.argsort(descending=True, stable=True)[:SHOWN].tolist()
        words = [
            {"word": vocabulary.words[often[j]], "shift": float(shift[j]), "count": int(vocabulary.counts[often[j]])}
            for j in best
        ]
        least = int(min(vocabulary.counts[i] for i in often))
        return {"kind": "shift", "words": words, "ranked": len(often), "least": least, "note": self.note}


def read(folder: Path | None) -> tuple[list[dict[str, Any]], str]:
    """(the columns of the file, why there are none)."""
    missing = f"There is no {FILE} in the run folder."
    if folder is None or not (folder / FILE).is_file():
        return [], missing
    try:
        if (folder / FILE).stat().st_size > MOST_BYTES:
            raise ValueError("it is too large")
        state = json.loads((folder / FILE).read_text(encoding="utf-8"))
        columns = [column_of(column) for column in state["columns"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return [], f"{FILE} in the run folder is not of the form that is read here."
    columns = [column for column in columns if column["words"]]
    return columns, "" if columns else f"{FILE} in the run folder has no words."


def column_of(column: dict) -> dict[str, Any]:
    words = [word_of(word) for word in column["words"] if word["word"] not in SPECIALS]
    words = sorted((word for word in words if all(map(math.isfinite, numbers(word)))), key=order)
    values, number = [str(value) for value in column["values"]], column.get("number") is True
    return {"name": str(column["name"]), "values": values, "number": number, "words": words}


def word_of(word: dict) -> dict[str, Any]:
    out: dict[str, Any] = {key: float(word[key]) for key in ("effect", "low", "high")}
    out |= {key: None if word.get(key) is None else float(word[key]) for key in ("p", "q")}
    return out | {"word": str(word["word"]), "documents": [int(n) for n in word.get("documents") or []]}


def numbers(word: dict) -> list[float]:
    return [word[key] for key in ("effect", "low", "high", "p", "q") if word[key] is not None]


def order(word: dict) -> tuple[bool, float, float]:
    """What surely differs first, by how much; then the rest, by how nearly sure it is."""
    sure = word["q"] is not None and word["q"] < SURE
    return not sure, -word["effect"] if sure else 1.0 if word["p"] is None else word["p"], -word["low"]
