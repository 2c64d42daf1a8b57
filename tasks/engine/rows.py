"""The rows of a results table: what a row is, and the one runner of them all.

A row is a name and a function from a seed to an `Outcome`. The runner owns the rest: seeds, workers side by side, a
progress bar, finished outcomes that a resumed run takes from the disk, and mean ± spread over seeds. Folds of a
cross-validation are rows, too: their number stands for the seed.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from atd.files import whole

NAMED = 12  # rows in the line that says what will be done


@dataclass
class Outcome:
    """What one row found with one seed."""

    scores: dict[str, float] = field(default_factory=dict)  # the metrics of the row
    arrays: dict[str, np.ndarray] = field(default_factory=dict)  # predictions or vectors that the report needs
    facts: dict[str, Any] = field(default_factory=dict)  # plain values, such as a learning curve or a chosen setting


@dataclass(frozen=True)
class Row:
    """`run` takes a seed. With several workers it runs in another process, so it must be a plain function."""

    name: str
    run: Callable[[int], Outcome]
    seeds: Sequence[int] = (0,)
    after: tuple[str, ...] = ()  # rows whose outcomes it reads from the store
    whole: Callable[[int], bool] = lambda seed: True  # whether what it leaves besides an outcome is still undamaged


@dataclass(frozen=True)
class Store:
    """Finished outcomes, a file each: whole or not there. What is there counts only in a resumed run."""

    folder: Path
    resumed: bool = False

    def path(self, name: str, seed: int) -> Path:
        return self.folder / f"{name}-{seed}.npz"

    def save(self, name: str, seed: int, outcome: Outcome) -> None:
        arrays: dict[str, Any] = {f"array:{name}": values for name, values in outcome.arrays.items()}
        with whole(self.path(name, seed)) as part, part.open("wb") as file:
            np.savez_compressed(file, plain=json.dumps([outcome.scores, outcome.facts]), **arrays)

    def load(self, name: str, seed: int) -> Outcome:
        with np.load(self.path(name, seed), allow_pickle=False) as file:
            scores, facts = json.loads(str(file["plain"]))
            arrays = {k.removeprefix("array:"): file[k] for k in file.files if k.startswith("array:")}
        return Outcome(scores, arrays, facts)

    def has(self, name: str, seed: int) -> bool:
        """Whether there is one to take; a damaged one is made again."""
        path = self.path(name, seed)
        if not self.resumed or not path.exists():
            return False
        try:
            self.load(name, seed)
        except Exception as error:  # a damaged zip is refused in a dozen ways
            print(f"{path}: damaged ({error}); the row is run again", flush=True)
            return False
        return True


def run_rows(
    rows: Iterable[Row],
    store: Store,
    workers: int = 1,
    say: Callable[[str, int, Outcome], str] | None = None,
) -> dict[str, list[Outcome]]:
    """The outcomes of every row, one for each of its seeds.

    `workers` jobs run side by side, each in a process and on one thread; a single worker is this process, as it is.
    A row starts when those it comes after are done. `say` gives the line that is printed when a job ends.
    """
    from rich.progress import Progress

    rows = list(rows)
    waiting = {row.name: row for row in rows}
    jobs = sum(len(row.seeds) for row in rows)
    if jobs and len(rows) > 1:
        print(plan_of(rows, jobs), flush=True)
    with Progress(disable=workers == 1 or not jobs) as progress:  # a training in this process draws its own bar
        bar = progress.add_task("rows", total=jobs)
        while waiting:
            ready = [row for row in waiting.values() if not set(row.after) & set(waiting)]
            if not ready:
                raise ValueError(f"rows wait for each other: {', '.join(waiting)}")
            for name, seed in _run(ready, store, workers):
                progress.advance(bar)
                if say is not None:
                    progress.console.print(say(name, seed, store.load(name, seed)), highlight=False, markup=False)
            for row in ready:
                del waiting[row.name]
    return {row.name: [store.load(row.name, seed) for seed in row.seeds] for row in rows}


def plan_of(rows: Sequence[Row], jobs: int) -> str:
    """What will be done, in a line: the rows, as far as they are few enough to be named."""
    more = f" and {len(rows) - NAMED} more" if len(rows) > NAMED else ""
    runs = f", {jobs} runs with their seeds" if jobs > len(rows) else ""
    return f"{len(rows)} rows{runs}: {', '.join(row.name for row in rows[:NAMED])}{more}"


def _run(rows: Sequence[Row], store: Store, workers: int) -> Iterable[tuple[str, int]]:
    jobs = [(row, seed) for row in rows for seed in row.seeds]
    if workers == 1:
        return (_run_one(row, seed, store, threads=None) for row, seed in jobs)
    from joblib import Parallel, delayed

    pool = Parallel(n_jobs=workers, return_as="generator_unordered")
    return pool(delayed(_run_one)(row, seed, store, threads=1) for row, seed in jobs)


def _run_one(row: Row, seed: int, store: Store, threads: int | None) -> tuple[str, int]:
    import torch

    if not store.has(row.name, seed) or not row.whole(seed):
        if threads is not None:
            torch.set_num_threads(threads)
        torch.manual_seed(seed)
        store.save(row.name, seed, row.run(seed))
        gc.collect()  # a trainer and its model know each other, and would stay beside those of the next row
    return row.name, seed


def mean_and_spread(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean of every metric over seeds; with several also their standard deviation, as <metric>_sd."""
    out: dict[str, float] = {}
    for metric in scores[0]:
        values = [score[metric] for score in scores]
        out[metric] = float(np.mean(values))
        if len(values) > 1:
            out[f"{metric}_sd"] = float(np.std(values, ddof=1))
    return out


def summary(outcomes: Mapping[str, Sequence[Outcome]]) -> dict[str, dict[str, float]]:
    """The rows of metrics.json."""
    return {name: mean_and_spread([outcome.scores for outcome in found]) for name, found in outcomes.items()}
