"""One space for sentences of several languages, and what it is good for (section 3.2 and its tables and figures).

A row of the results is the configuration as it stands, changed by what `task.changes` says of the row: a model, trained
with `task.seeds` seeds, whose metrics are the means; or a control, the simplest thing that could have produced the same
numbers. Tables of topics are of every row's first seed; the words in the report are of the row `task.show`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tasks.crosslingual.claims import show_claims
from tasks.crosslingual.report import PAPER, BothDirections, explain, show_topics, show_words
from tasks.crosslingual.rows import rows_of
from tasks.crosslingual.settings import FITS, Settings
from tasks.crosslingual.topics import Verdict
from tasks.engine.result import Result
from tasks.engine.rows import Row, Store, run_rows, summary
from tasks.engine.settings import typed
from tasks.figures.charts import learning_curves

if TYPE_CHECKING:
    from omegaconf import DictConfig

__all__ = ["FITS", "Settings", "run"]


def run(cfg: DictConfig, out: Path) -> Result:
    task = typed(Settings, cfg.task)
    rows, controls = rows_of(cfg, out)
    first = next(iter(rows.values()))
    shown = rows.get(task.show, first)
    store = Store(out / "rows", bool(cfg.resume))
    both = (*rows.values(), *controls.values())
    outcomes = run_rows([Row(row.name, row.run, row.seeds, whole=row.whole) for row in both], store)
    verdicts = {name: [Verdict(**v) for v in found[0].facts["verdicts"]] for name, found in outcomes.items()}
    curves = {name: outcomes[name][0].facts["curve"] for name in rows}
    metrics = summary(outcomes)
    on_reuters = any(metric.startswith("rcv") for scores in metrics.values() for metric in scores)
    comparable = on_reuters and not cfg.data.get("sample")  # the sample has news of its own making
    primary = f"{first.name}/heldout_{first.task.pairs[0].replace('-', '_')}"
    result = BothDirections("crosslingual", primary, metrics, paper=PAPER if comparable else {})
    show_claims(result, rows, controls, outcomes)
    explain(result, outcomes[first.name][0].facts["dictionary"], bool(cfg.data.get("sample")))
    result.figure(
        "learning_curves", learning_curves(curves, "val/retrieval"), "Retrieval on val after each epoch, first seed."
    )
    show_topics(result, verdicts, task)
    show_words(result, shown.model(shown.seeds[0]), shown.data, cfg.seed)
    return result
