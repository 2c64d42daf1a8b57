"""Vectors for whole graphs (the paper's conclusion): labels are the words, the graph is the attribute.

The model predicts a node's Weisfeiler–Lehman label from its label one step shallower and from the vector x of the
graph. x is inferred with the weights frozen, so every graph has one, in training or unseen. A classifier judges them,
by distances in the model's own metric.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tasks.engine.result import Result
from tasks.engine.rows import Store, run_rows
from tasks.engine.settings import typed
from tasks.graphs.report import scores, show_leads, show_map, show_scores, verdict
from tasks.graphs.rows import rows_of, sets_of
from tasks.graphs.settings import FITS, Settings
from tasks.learning.doc2vec import check_gensim

if TYPE_CHECKING:
    from omegaconf import DictConfig

__all__ = ["FITS", "Settings", "run"]


def run(cfg: DictConfig, out: Path) -> Result:
    task = typed(Settings, cfg.task)
    check_gensim(row for row in task.rows if row.startswith("graph2vec"))
    sets = sets_of(cfg, task)
    outcomes = run_rows(rows_of(cfg, task, out), Store(out / "rows", bool(cfg.resume)), task.workers)
    rows = {row: scores({name: outcomes[f"{row}-{name}"] for name in sets}) for row in task.rows}
    result = Result("graphs", f"{task.rows[0]}/accuracy", rows)
    result.verdict = verdict(rows, sets)
    show_scores(result, sets, outcomes)
    show_leads(result, sets, outcomes)
    show_map(result, sets, outcomes, cfg, task, out)
    return result
