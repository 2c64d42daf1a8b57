"""From the command to the first training step, against a bare `import lightning`, and where the time goes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from atd.errors import AtdError
from tasks.benchmark.first_step import MADE
from tasks.benchmark.measure import Bench, row

ROOT = Path(__file__).parent.parent.parent
LINE = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s+([\w.]+)")


def against_lightning(bench: Bench) -> dict[str, dict[str, float]]:
    """Fresh processes in turn; the sample corpus is in the cache, as on every run but the first."""
    first_step(bench)
    seconds: dict[str, list[float]] = {"ours": [], "rival": []}
    for _ in range(max(bench.rounds // 2, 3)):
        seconds["ours"].append(_timed(lambda: first_step(bench)))
        seconds["rival"].append(_timed(lambda: python("-c", "import lightning")))
    ratios = np.array(seconds["ours"]) / np.array(seconds["rival"])
    medians: dict[str, Any] = {
        "seconds": float(np.median(seconds["ours"])),
        "rival_seconds": float(np.median(seconds["rival"])),
    }
    return {"startup": row(ratios, 1.5, at_most=True, **medians)}


def first_step(bench: Bench, *options: str) -> str:
    """Run `run.py` on the sample until the first step is made; returns what python wrote to standard error."""
    settings = [f"paths.cache={bench.cfg.paths.cache}", "data=gutenberg_sample", "logger=csv"]
    said = python(*options, "-m", "tasks.benchmark.first_step", *settings)
    if MADE not in said:
        raise AtdError("benchmark startup: run.py ended before its first step")
    return said


def breakdown(bench: Bench, shown: int = 12) -> list[tuple[str, float]]:
    """Seconds of import by package, slowest first, each without what it imports from others."""
    spent: dict[str, float] = {}
    for microseconds, module in LINE.findall(first_step(bench, "-X", "importtime")):
        package = module.split(".")[0]
        spent[package] = spent.get(package, 0.0) + int(microseconds) / 1e6
    ranked = sorted(spent.items(), key=lambda item: -item[1])
    return [*ranked[:shown], ("all others", sum(seconds for _, seconds in ranked[shown:]))]


def python(*arguments: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise AtdError(f"benchmark startup: python {' '.join(arguments)} failed: {done.stderr.strip()[-200:]}")
    return done.stderr


def _timed(function) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start
