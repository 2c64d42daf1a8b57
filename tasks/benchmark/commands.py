"""Whole commands, from the call to the report: how many times the seconds in which their models train.

What is not training is start, corpus, exact perplexities, counting, and the report with its maps, tests and guesses.
"""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from atd.errors import AtdError
from tasks.benchmark import synthetic
from tasks.benchmark.measure import Bench, row
from tasks.benchmark.startup import ROOT

EPOCH = re.compile(r"epoch \d+: .*\((\d+\.\d) s\)$", re.MULTILINE)
VALUES = (2, 20, 500)  # of the columns of a table
TARGET = 2.0
FEW = ("trainer.min_steps=100", "trainer.max_epochs=1")  # of a quick run, and to fill the cache


def tour(bench: Bench) -> dict[str, dict[str, float]]:
    """The quick tour, its corpus in the cache."""
    return {"whole_tour": measured(bench, "data=gutenberg_sample")}


def table(bench: Bench) -> dict[str, dict[str, float]]:
    """A user's own: texts of 200 words, three columns, one of them with 500 values."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_table(Path(folder) / "table.csv", bench.size(5000, 1000))
        return {"whole_table": measured(bench, "data=table", f"data.path={path}", "data.attributes=[c0,c1,c2]")}


def measured(bench: Bench, *words: str) -> dict[str, float]:
    finished(bench, *words, *FEW)  # the corpus to the cache
    words = (*words, *FEW) if bench.quick else words
    each = [finished(bench, *words) for _ in range(1 if bench.quick else 3)]
    seconds, training = (np.array(part) for part in zip(*each, strict=True))
    return row(
        seconds / training, TARGET, at_most=True, seconds=float(np.median(seconds)), training=float(np.median(training))
    )


def finished(bench: Bench, *words: str) -> tuple[float, float]:
    """Seconds of a command, and of the epochs that it tells of."""
    with tempfile.TemporaryDirectory() as out:
        settings = [f"paths.cache={bench.cfg.paths.cache}", f"paths.outputs={out}", "task.workers=1", *words]
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "run.py", *settings], cwd=ROOT, env=dict(os.environ), capture_output=True, text=True
        )
        seconds = time.perf_counter() - start
    if done.returncode:
        raise AtdError(f"benchmark: run.py {' '.join(words)} failed: {done.stderr.strip()[-200:]}")
    return seconds, sum(map(float, EPOCH.findall(done.stdout)))


def write_table(path: Path, texts: int, values: Sequence[int] = VALUES) -> Path:
    random = np.random.default_rng(0)
    tokens, offsets, _ = synthetic.texts(texts, 200, 5000, 10)
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["text", *(f"c{i}" for i in range(len(values)))])
        for words in synthetic.strings(tokens, offsets):
            out.writerow([" ".join(words), *(f"v{random.integers(n)}" for n in values)])
    return path
