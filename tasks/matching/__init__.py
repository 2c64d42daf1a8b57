"""Reviewers and papers (the paper's conclusion): how well does each submission suit each reviewer?

A reviewer is an attribute: one vector, or a mixture of several for his several fields, inferred from his papers with
the weights frozen. A submission is scored by its likelihood under him and by how near its own vector is. Beside it
stand counts of words, controls and what other systems predict. Ratings, where there are any, judge the scores and
choose nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tasks.engine.result import Result
from tasks.engine.rows import Store, run_rows
from tasks.engine.settings import typed
from tasks.matching.matches import show_matches, show_words, write_scores
from tasks.matching.report import (
    Judgement,
    best_without_ratings,
    intervals_of,
    rows_of_metrics,
    show_choices,
    show_losses,
    show_pairs,
    verdict,
)
from tasks.matching.rows import rows_of
from tasks.matching.settings import FITS, Settings
from tasks.matching.study import Study

if TYPE_CHECKING:
    from omegaconf import DictConfig

__all__ = ["FITS", "Settings", "run"]


def run(cfg: DictConfig, out: Path) -> Result:
    study = Study(cfg, typed(Settings, cfg.task))
    found = run_rows(rows_of(study, out), Store(out / "rows", bool(cfg.resume)), study.task.workers)
    outcomes = {row: found for row, found in found.items() if "scores" in found[0].arrays}
    judgement = Judgement.of(study, outcomes) if study.ratings else None
    rows = rows_of_metrics(study, outcomes)
    metric = "loss" if judgement else "own_above_others"
    result = Result("matching", f"{study.task.rows[0]}/{metric}", rows, lower_is_better=judgement is not None)
    chosen = best_without_ratings(outcomes)
    result.verdict = verdict(result, study, judgement, chosen)
    if judgement:
        result.details = intervals_of(study, judgement)
        show_losses(result, study, judgement)
        show_pairs(result, judgement)
    show_choices(result, outcomes)
    score_SR = outcomes[chosen][0].arrays["scores"][0]
    write_scores(out / "scores.csv", study, score_SR)
    show_matches(result, study, score_SR, chosen)
    show_words(result, study, score_SR, outcomes, out)
    return result
