"""What conf/task/benchmark.yaml holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from atd.settings import whole
from tasks.engine.check import Fits

FITS = Fits(data=("Gutenberg",), models=("paper",))


@dataclass(frozen=True)
class Settings:
    name: str


@dataclass(frozen=True)
class Benchmark:
    """`benchmark.…`"""

    only: list[str] | None  # names of measurements; None = all
    quick: bool
    rounds: Annotated[int, whole(1)]  # alternations of every measurement
    revision: str | None  # a commit that whole commands are timed beside


GROUPS = {"benchmark": Benchmark}
