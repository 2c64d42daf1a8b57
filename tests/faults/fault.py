"""What one kind of fault did: how often it was tried, how often nothing was lost, and how to repeat each loss."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field


@dataclass
class Fault:
    """One row of the table."""

    family: str  # kills, disks, readers …
    name: str  # what was done, in words
    tries: int = 0
    lost: list[str] = field(default_factory=list)  # of each: what happened, and the seed or case that repeats it
    skipped: str = ""  # why this machine cannot try it; empty = it was tried
    note: str = ""

    @property
    def survived(self) -> int:
        return self.tries - len(self.lost)

    def tried(self, loss: str | None = None) -> None:
        """One more try; `loss` says what it lost, None = nothing."""
        self.tries += 1
        if loss is not None:
            self.lost.append(loss)


@dataclass(frozen=True)
class Effort:
    """How much to try. Every draw comes from the seed and a name, so that a case can be repeated alone."""

    seed: int = 0
    quick: bool = False  # the part that runs with the tests

    def draw(self, name: str) -> random.Random:
        return random.Random(f"{self.seed}/{name}")

    def times(self, full: int, quick: int) -> int:
        return quick if self.quick else full


def nothing_lost(faults: Iterable[Fault]) -> Iterator[str]:
    """For tests: every loss, one line each. Faults that were never tried are losses unless they say why."""
    for fault in faults:
        if not fault.tries and not fault.skipped:
            yield f"{fault.family}, {fault.name}: never tried"
        yield from (f"{fault.family}, {fault.name}: {loss}" for loss in fault.lost)
