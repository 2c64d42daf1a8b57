"""Who wrote it, from the text alone?

One multiplicative model has a vector for every author, and P(author | text) ∝ P(text | x of the author)^w · prior.
Beside it stand counts of n-grams, linear classifiers and controls. Validation texts calibrate all, and mix them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tasks.authors.probabilities import Probabilities
from tasks.authors.report import show_curves, show_gain, show_habits, show_open_set, show_scores, show_unknown
from tasks.authors.scores import rows_of
from tasks.authors.settings import FITS, Settings
from tasks.authors.study import Study
from tasks.engine.result import Result
from tasks.engine.rows import Store, run_rows
from tasks.engine.settings import typed
from tasks.learning.doc2vec import check_gensim

if TYPE_CHECKING:
    from omegaconf import DictConfig

__all__ = ["FITS", "Settings", "run"]


def run(cfg: DictConfig, out: Path) -> Result:
    task = typed(Settings, cfg.task)
    check_gensim(row for row in task.controls if row == "doc2vec")
    study = Study(cfg, task)
    outcomes = run_rows(rows_of(study, cfg, task, out), Store(out / "rows", bool(cfg.resume)), task.workers)
    study.open()
    found = Probabilities.of(study, outcomes, task.rows)
    result = Result("authors", "stacked/macro_accuracy", found.rows())
    show_scores(result, study, found)
    show_gain(result, study, found)
    show_curves(result, study, found)
    show_open_set(result, study, found)
    show_unknown(result, study, found, out)
    show_habits(result, study, found, task, cfg, out)
    return result
