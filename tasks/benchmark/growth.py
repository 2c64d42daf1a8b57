"""How time and memory of a step grow with each size, the others held fixed, and the exponent of the growth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from tasks.benchmark import lm, ranking, report
from tasks.benchmark.measure import Bench, alternate
from tasks.benchmark.memory import peak

TARGET = 1.05
ROUNDS = 3
B = 512  # where the batch is not what grows


@dataclass
class Growth:
    """Seconds and bytes at each size; `time` and `memory` are the slopes of the straight lines through their logs."""

    name: str
    sizes: Sequence[int]
    seconds: list[float]
    bytes: list[float]

    @property
    def time(self) -> float:
        return exponent(self.sizes, self.seconds)

    @property
    def memory(self) -> float:
        return exponent(self.sizes, self.bytes)

    def row(self) -> dict[str, float]:
        worst = max(self.time, self.memory)
        return {
            "ratio": worst, "exponent_time": self.time, "exponent_memory": self.memory, "target": TARGET,
            "at_most": True, "ok": worst <= TARGET,
        }  # fmt: skip


def exponent(sizes: Sequence[int], values: Sequence[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def curves(bench: Bench, names: Sequence[str]) -> list[Growth]:
    return [grow(bench, name, *AXES[name](bench)) for name in names]


def grow(bench: Bench, name: str, sizes: Sequence[int], prepare: Callable[[int], Callable[[], object]]) -> Growth:
    """The best of a few calls at every size, the sizes in turns, and the peak memory of one in a fresh process."""
    functions = {str(size): prepare(size) for size in sizes}
    seconds = alternate(functions, ROUNDS)
    del functions  # before the fork, which by now has all libraries in memory
    memory = [peak(partial(prepare, size), bench.device) for size in sizes]
    return Growth(name, sizes, [float(seconds[str(size)].min()) for size in sizes], memory)


def _vocabulary(bench: Bench):
    sizes = (1000, 5000, 20_000, 80_000, 200_000)[: 4 if bench.quick else 5]
    return sizes, lambda V: lm.our_step(bench.device, V=V, B=B)


def _factors(bench: Bench):
    return (25, 50, 100, 200, 400), lambda F: lm.our_step(bench.device, F=F, B=B, V=bench.size(20_000, 5000))


def _batch(bench: Bench):
    return (128, 256, 512, 1024, 2048, 4096), lambda B: lm.our_step(bench.device, B=B, V=bench.size(20_000, 5000))


def _attributes(bench: Bench):
    sizes = (1000, 10_000, 100_000, 1_000_000, 10_000_000)[: 4 if bench.quick else 5]
    return sizes, lambda A: lm.sparse_step(bench, A)


def _pairs(bench: Bench):
    sizes = (4000, 16_000, 64_000, 256_000)[: 3 if bench.quick else 4]
    return sizes, lambda n: ranking.our_epoch(ranking.pairs(n))


def _report_map(bench: Bench):
    return (1000, 10_000, 100_000), report.mapped


def _report_columns(bench: Bench):
    return (2000, 10_000, 50_000, 100_000)[: 3 if bench.quick else 4], report.columns


def _report_effects(bench: Bench):
    return (1000, 4000, 16_000)[: 2 if bench.quick else 3], report.used


AXES = {
    "vocabulary": _vocabulary, "factors": _factors, "batch": _batch, "attributes": _attributes, "pairs": _pairs,
    "report_map": _report_map, "report_columns": _report_columns, "report_effects": _report_effects,
}  # fmt: skip
