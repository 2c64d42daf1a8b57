"""Whole commands beside an older revision of this repository (`benchmark.revision`): what its users waited for."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from atd.errors import AtdError
from tasks.benchmark.commands import write_table
from tasks.benchmark.measure import Bench, faster
from tasks.benchmark.startup import ROOT

SAME = 1.03  # perplexities that differ by less count as the same
SHORT = ("trainer.max_epochs=1",)  # which older revisions know, too
COMBINED = (2, 20, 48)  # values of a table's columns; older revisions have a vector for each of 1,920 combinations
Rows = dict[str, dict[str, float]]


def tour(bench: Bench) -> Rows:
    """The quick tour in a tree that is set up, its corpus in the cache."""
    with both_trees(bench) as sides:
        for side in sides.values():
            side.run(SHORT)
        return {"tour_vs_revision": compared(sides, SHORT if bench.quick else (), 2.0, rounds=3)}


def table(bench: Bench) -> Rows:
    """A user's own table of three million words, from its file to the report."""
    with both_trees(bench) as sides, tempfile.TemporaryDirectory() as folder:
        path = write_table(Path(folder) / "table.csv", bench.size(15_000, 500), COMBINED)
        words = ["data=table", f"data.path={path}", "data.attributes=[c0,c1,c2]", *(SHORT if bench.quick else ())]
        return {"table_vs_revision": compared(sides, words, 5.0, rounds=1)}


def suite(bench: Bench) -> Rows:
    """The tests that both revisions have. Ours must pass; older ones may fail under versions that they did not know."""
    with both_trees(bench) as sides, tempfile.TemporaryDirectory() as folder:
        common = sorted(set.intersection(*(side.tests() for side in sides.values())))[: bench.size(10**6, 20)]
        listed = Path(folder) / "tests.txt"
        listed.write_text("\n".join(common), encoding="utf-8")
        found = {name: side.tested(listed) for name, side in sides.items()}
    seconds = {name: np.array([spent]) for name, (spent, _) in found.items()}
    failed, rival_failed = (found[name][1] for name in ("ours", "rival"))
    row = faster(seconds, 1.5, ok=not failed, tests=len(common), failed=failed, rival_failed=rival_failed)
    return {"suite_vs_revision": row}


def compared(sides: Mapping[str, Side], words: Sequence[str], target: float, rounds: int) -> dict[str, float]:
    """A command in both trees in turn. Met only if the model of today is as good."""
    found = [{name: side.run(words) for name, side in sides.items()} for _ in range(rounds)]
    seconds = {name: np.array([each[name][0] for each in found]) for name in sides}
    perplexity, rival = (found[-1][name][1] for name in ("ours", "rival"))
    same = perplexity <= SAME * rival
    return faster(seconds, target, ok=same, perplexity=perplexity, rival_perplexity=rival)


@contextmanager
def both_trees(bench: Bench) -> Iterator[dict[str, Side]]:
    """The files of today, and in a temporary folder those of the older revision."""
    revision = bench.cfg.benchmark.revision
    with tempfile.TemporaryDirectory() as folder:
        packed, tree = Path(folder) / "tree.tar", Path(folder) / "tree"
        archive = ["git", "archive", f"--output={packed}", revision]
        done = subprocess.run(archive, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            raise AtdError(f"benchmark.revision={revision}: {done.stderr.strip()[-200:]}; name a commit of {ROOT}")
        with tarfile.open(packed) as file:
            file.extractall(tree, filter="data")
        yield {"ours": Side(ROOT, Path(folder) / "ours"), "rival": Side(tree, Path(folder) / "rival")}


@dataclass(frozen=True)
class Side:
    """The files of a revision, and a cache of its own."""

    tree: Path
    cache: Path

    def run(self, words: Sequence[str]) -> tuple[float, float]:
        """Seconds of a command, and the perplexity that it reports."""
        with tempfile.TemporaryDirectory() as out:
            seconds = self.timed(["run.py", f"paths.cache={self.cache}", f"hydra.run.dir={out}/run", *words])
            return seconds, json.loads((Path(out) / "run/metrics.json").read_text())["value"]

    def tests(self) -> set[str]:
        """Names of the tests that `make test` runs."""
        said = self.python(["-m", "pytest", "--collect-only", "-p", "no:cacheprovider"])
        return {line for line in said.splitlines() if "::" in line}

    def tested(self, listed: Path) -> tuple[float, int]:
        """Seconds of some tests, and how many of them failed."""
        start = time.perf_counter()
        said = self.python(["-m", "pytest", "-n", "auto", "-p", "no:cacheprovider", f"@{listed}"], fine=(0, 1))
        return time.perf_counter() - start, len(re.findall(r"^(?:FAILED|ERROR) ", said, re.MULTILINE))

    def timed(self, arguments: Sequence[str]) -> float:
        start = time.perf_counter()
        self.python(arguments)
        return time.perf_counter() - start

    def python(self, arguments: Sequence[str], fine: Sequence[int] = (0,)) -> str:
        environment = os.environ | {"PYTHONPATH": str(self.tree)}
        done = subprocess.run(
            [sys.executable, *arguments], cwd=self.tree, env=environment, capture_output=True, text=True
        )
        if done.returncode not in fine:
            said = (done.stderr.strip() or done.stdout.strip())[-300:]
            raise AtdError(f"benchmark: python {' '.join(arguments)} failed in {self.tree}: {said}")
        return done.stdout
