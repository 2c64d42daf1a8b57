"""How things are timed: in turns, after a warm-up, and compared round by round.

A machine that slows down for a second slows both sides of a round; the ratio of a round survives it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

if TYPE_CHECKING:
    from omegaconf import DictConfig

SHORTEST = 0.05  # seconds that one timing lasts at least; shorter calls are repeated within it


@dataclass(frozen=True)
class Bench:
    """What every measurement is told. `rounds` alternations; `quick` asks for smaller problems."""

    cfg: DictConfig
    rounds: int
    quick: bool
    device: torch.device

    def size(self, full: int, quick: int) -> int:
        return quick if self.quick else full


def alternate(
    functions: Mapping[str, Callable[[], object]], rounds: int, warm_up: bool = True
) -> dict[str, np.ndarray]:
    """Seconds per call of each function in each round, A B C A B C …, after unmeasured calls of each."""
    calls = dict.fromkeys(functions, 1)
    for name, function in functions.items() if warm_up else ():
        seconds_each = timed(function)
        if seconds_each < 1:  # the first call may have been slow for its own reasons
            seconds_each = timed(function)
        calls[name] = max(1, min(1000, math.ceil(SHORTEST / max(seconds_each, 1e-9))))
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            seconds[name].append(timed(function, calls[name]))
    return {name: np.array(values) for name, values in seconds.items()}


def timed(function: Callable[[], object], calls: int = 1) -> float:
    synchronise()
    start = time.perf_counter()
    for _ in range(calls):
        function()
    synchronise()
    return (time.perf_counter() - start) / calls


def synchronise() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def row(
    ratios: Sequence[float] | np.ndarray, target: float, *, at_most: bool = False, ok: bool = True, **more: float
) -> dict[str, float]:
    """The median ratio with its 10th and 90th percentile. `at_most`: it should be small; `ok` adds a condition."""
    low, middle, high = (float(q) for q in np.percentile(ratios, (10, 50, 90)))
    met = ok and (middle <= target if at_most else middle >= target)
    spread = {"ratio": middle, "ratio_low": low, "ratio_high": high}
    return {**spread, "target": target, "at_most": at_most, "ok": bool(met), **more}


def faster(
    seconds: Mapping[str, np.ndarray], target: float, rivals: Sequence[str] = ("rival",), **more: Any
) -> dict[str, float]:
    """How many times faster "ours" is than the fastest of the rivals; with several, also than each (`vs_…`)."""
    strongest = min(rivals, key=lambda name: float(np.median(seconds[name])))
    ratio_of = {name: float(np.median(seconds[name] / seconds["ours"])) for name in rivals}
    each: dict[str, Any] = {f"vs_{name}": ratio for name, ratio in ratio_of.items()} if len(rivals) > 1 else {}
    return row(seconds[strongest] / seconds["ours"], target, **each, **more) | _medians(seconds, strongest)


def slower(seconds: Mapping[str, np.ndarray], target: float, **more: Any) -> dict[str, float]:
    """How many times as long "ours" takes as "rival": at most `target`."""
    return row(seconds["ours"] / seconds["rival"], target, at_most=True, **more) | _medians(seconds)


def _medians(seconds: Mapping[str, np.ndarray], rival: str = "rival") -> dict[str, float]:
    return {
        "seconds": float(np.median(seconds["ours"])),
        "rival_seconds": float(np.median(seconds[rival])),
    }
