"""Sentiment on the treebank: the left half of the paper's table, and rows beyond it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from atd.errors import AtdError
from tasks.engine.files import write_atomically
from tasks.engine.result import Result
from tasks.sentiment.report import write
from tasks.sentiment.rows import ROWS
from tasks.sentiment.scores import accuracies, scores
from tasks.sentiment.settings import FITS, Settings
from tasks.sentiment.study import Outcome, Study, load, save

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
ONCE = ("word-average", "binb")  # rows without chance
LATER = ("atd-refined",)  # rows that start from others
WEIGHTS = (0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)  # of a further row beside the tree encoders


def run(cfg: DictConfig, out: Path) -> Result:
    study = Study(cfg, out)
    wanted = list(cfg.task.rows)
    if unknown := [row for row in wanted if row not in ROWS]:
        raise AtdError(f"task.rows: no row {unknown[0]!r}; the rows are {', '.join(ROWS)}")
    jobs = [(row, seed) for row in wanted for seed in seeds(cfg, row)]
    outcomes = run_jobs(cfg, out, [job for job in jobs if job[0] not in LATER])
    outcomes |= run_jobs(cfg, out, [job for job in jobs if job[0] in LATER])
    labels = study.labels
    runs = {row: [outcomes[row, seed] for seed in seeds(cfg, row)] for row in wanted}
    if "atd-tree" in runs:
        runs["atd-best"] = [ensemble(cfg, outcomes, seed, labels) for seed in range(cfg.task.seeds)]
        runs["atd-tree"] = runs["atd-tree"][:: cfg.task.members]  # one member per seed
    rows = {row: summary([scores(o.logp, labels) for o in runs[row]]) for row in runs}
    primary = next(f"{row}/fine" for row in ("atd-best", "atd", *runs) if row in runs)
    paper = {name: {"fine": fine, "binary": binary} for name, (fine, binary) in PAPER.items()}
    chosen = {row: [o.facts for o in runs[row]] for row in runs}
    write_atomically(out / "settings.json", json.dumps(chosen, indent=2) + "\n")  # what dev chose, per row and seed
    result = Result("sentiment", primary, rows, paper={} if cfg.data.sample else paper)
    write(result, study, runs)
    return result


def seeds(cfg: DictConfig, row: str) -> range:
    """Tree encoders are trained `members` times per seed, for the ensemble."""
    first = cfg.seed
    if row in ONCE:
        return range(first, first + 1)
    members = cfg.task.members if row in ("atd-tree", *LATER) else 1
    step = members if row in LATER else 1
    return range(first, first + cfg.task.seeds * members, step)


def run_jobs(cfg: DictConfig, out: Path, jobs: list[tuple[str, int]]) -> dict[tuple[str, int], Outcome]:
    """Every (row, seed) is a job of one thread; `workers` run side by side. Finished ones are kept for a resume."""
    from joblib import Parallel, delayed
    from rich.progress import Progress

    if not jobs:
        return {}
    (out / "rows").mkdir(exist_ok=True)
    pool = Parallel(n_jobs=cfg.task.workers, return_as="generator_unordered")
    found = {}
    with Progress() as progress:
        bar = progress.add_task("rows", total=len(jobs))
        for job, path in pool(delayed(run_job)(cfg, out, *job) for job in jobs):
            found[job] = load(path)
            fine, binary = accuracies(found[job].logp["dev"], Study(cfg, out).labels["dev"])
            progress.console.print(f"{job[0]} seed {job[1]}: dev {fine:.1f} / {binary:.1f}", highlight=False)
            progress.advance(bar)
    return found


def run_job(cfg: DictConfig, out: Path, row: str, seed: int) -> tuple[tuple[str, int], Path]:
    import torch

    path = out / "rows" / f"{row}-{seed}.npz"
    if not (cfg.resume and path.exists()):
        torch.set_num_threads(cfg.trainer.threads or 1)
        torch.manual_seed(seed)
        save(path, ROWS[row](Study(cfg, out), seed))
    return (row, seed), path


def ensemble(cfg: DictConfig, outcomes: dict, seed: int, labels: dict[str, np.ndarray]) -> Outcome:
    """The mean opinion of this seed's tree encoders; dev says how much the other rows of the seed may add."""
    first = cfg.seed + seed * cfg.task.members
    trees = [outcomes["atd-tree", s] for s in range(first, first + cfg.task.members)]
    logp = {s: np.mean([t.logp[s] for t in trees], 0) for s in ("dev", "test")}
    facts = {"members": len(trees)}
    for row in cfg.task.stack:
        other = outcomes.get((row, cfg.seed + (0 if row in ONCE else seed)))
        if other is None:
            continue
        mixed = {w: {s: logp[s] + w * other.logp[s] for s in logp} for w in WEIGHTS}
        facts[row] = max(WEIGHTS, key=lambda w: (sum(accuracies(mixed[w]["dev"], labels["dev"])), -w))
        logp = mixed[facts[row]]
    x = {s: np.concatenate([t.x[s] for t in trees], 1) for s in ("dev", "test")}
    return Outcome(logp, x, facts)


def summary(runs: list[dict[str, float]]) -> dict[str, float]:
    """Means over the seeds, and the standard deviation where there are several."""
    row = {metric: float(np.mean([r[metric] for r in runs])) for metric in runs[0]}
    if len(runs) > 1:
        row |= {f"{m}_sd": float(np.std([r[m] for r in runs], ddof=1)) for m in runs[0]}
    return {**row, "seeds": len(runs)}
