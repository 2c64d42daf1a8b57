"""Sentiment on the treebank: the left half of the paper's table, and rows beyond it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from atd.files import write_whole
from tasks.engine.result import Result
from tasks.engine.rows import Outcome, Store, run_rows, summary
from tasks.sentiment.report import write
from tasks.sentiment.rows import rows_of
from tasks.sentiment.settings import FITS, Settings
from tasks.sentiment.study import open_study

if TYPE_CHECKING:
    from omegaconf import DictConfig

__all__ = ["FITS", "Settings", "run"]

PAPER = {
    "SVM": (40.7, 79.4),
    "BiNB": (41.9, 83.1),
    "NBoW": (42.4, 80.5),
    "RNN": (43.2, 82.4),
    "MV-RNN": (44.4, 82.9),
    "RNTN": (45.7, 85.4),
    "DCNN": (48.5, 86.8),
    "PV": (48.7, 87.8),
    "ATD": (45.9, 83.3),
}


def run(cfg: DictConfig, out: Path) -> Result:
    study = open_study(cfg, out)
    store = Store(out / "rows", bool(cfg.resume))
    outcomes = run_rows(rows_of(study, store), store, study.task.workers, say)
    if "atd-tree" in outcomes:
        outcomes["atd-tree"] = outcomes["atd-tree"][:: study.task.members]  # one member per seed
    rows = {name: {**row, "seeds": len(outcomes[name])} for name, row in summary(outcomes).items()}
    best = next(name for name in ("atd-best", "atd-paper", "atd", *outcomes) if name in outcomes)
    paper = {name: {"fine": fine, "binary": binary} for name, (fine, binary) in PAPER.items()}
    chosen = {name: [outcome.facts["chosen"] for outcome in found] for name, found in outcomes.items()}
    write_whole(out / "settings.json", json.dumps(chosen, indent=2) + "\n")  # what val chose, per row and seed
    result = Result("sentiment", f"{best}/fine", rows, paper={} if cfg.data.sample else paper)
    result.verdict = verdict(rows, best)
    write(result, study, outcomes, best)
    return result


def verdict(rows: Mapping[str, Mapping[str, float]], own: str) -> str:
    """The row that counts, beside the average of word vectors, the paper's model and the best of all."""
    best = max(rows, key=lambda name: rows[name]["fine"])
    beside = [name for name in dict.fromkeys(("word-average", "atd", best)) if name in rows and name != own]
    others = "".join(f"; {name}: {rows[name]['fine']:.1f}" for name in beside)
    return f"{own} gives {rows[own]['fine']:.1f} % of the test sentences the right one of five labels{others}."


def say(name: str, seed: int, outcome: Outcome) -> str:
    return f"{name} seed {seed}: dev {outcome.scores['fine_dev']:.1f} / {outcome.scores['binary_dev']:.1f}"
