"""Which languages are related, by the vectors of one model over all of them? (The paper's conclusion.)

The model turns meanings, which all translations share, into forms; its gate is the language's vector. Relatives, trees
and grammar are looked for in these vectors, in counts of n-grams, and in vectors that others published.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tasks.engine.result import Result
from tasks.engine.rows import Store, run_rows
from tasks.engine.settings import typed
from tasks.kinship.judgement import Judge
from tasks.kinship.report import explain, show_curves, show_details, show_map, show_neighbours, show_rivals, show_tree
from tasks.kinship.rows import rows_of
from tasks.kinship.settings import FITS, Settings

if TYPE_CHECKING:
    from omegaconf import DictConfig

__all__ = ["FITS", "Settings", "run"]


def run(cfg: DictConfig, out: Path) -> Result:
    task = typed(Settings, cfg.task)
    outcomes = run_rows(rows_of(cfg, task, out), Store(out / "rows", bool(cfg.resume)), task.workers)
    judge = Judge.of(cfg, task)
    result = Result("kinship", f"{task.rows[0]}/family_accuracy", judge.rows(outcomes))
    result.verdict = judge.verdict(result.rows)
    result.details = judge.details(outcomes)
    explain(result, judge)
    show_details(result)
    show_rivals(result, judge, outcomes)
    show_curves(result, outcomes)
    if "atd" in outcomes:
        similar_nn = judge.similar(outcomes["atd"])
        show_tree(result, judge, similar_nn)
        show_map(result, judge, outcomes["atd"][0].arrays["x"], task, cfg.seed)
        show_neighbours(result, judge, similar_nn)
        judge.write_vectors(out / "vectors.tsv", outcomes["atd"][0].arrays["x"])
    return result
