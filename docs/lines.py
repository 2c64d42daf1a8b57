"""A line of the README's results table: a number, and the controls that it stands beside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Record = dict[str, Any]
SEEDS = 3  # of every row with a spread; folds are more


@dataclass(frozen=True)
class Cell:
    """A number of the table: a row of a record, and one metric of it or several side by side."""

    row: str
    metrics: tuple[str, ...]
    label: str = ""
    digits: int = 1

    def values(self, record: Record) -> list[tuple[float, float]]:
        """Each number, and its standard deviation over seeds: 0 where chance has no part in it, or is not known."""
        row = record["rows"][self.row]
        return [(row[metric], row.get(f"{metric}_sd", 0.0)) for metric in self.metrics]

    def text(self, record: Record) -> str:
        return " / ".join(self._number(record["rows"][self.row], metric) for metric in self.metrics)

    def _number(self, row: dict[str, float], metric: str) -> str:
        spread = row.get(f"{metric}_sd")
        value = f"{row[metric]:.{self.digits}f}"
        return value if spread is None else f"{value} ± {spread:.{self.digits}f}"


@dataclass(frozen=True)
class Line:
    """A line of the table: what is measured, ours, and what could have produced the same number more simply."""

    what: str
    record: str
    here: Cell
    controls: Sequence[Cell]
    beaten: Sequence[str]  # labels of the controls that ours is certainly better than, in every metric
    so: str
    lower: bool = False  # a lower number is better

    def beats(self, record: Record, control: Cell) -> bool:
        """By more than two standard errors of the difference; what differs by less is level."""
        sign = -1 if self.lower else 1
        pairs = zip(self.here.values(record), control.values(record), strict=True)
        return all(sign * (a - b) > 2 * ((s**2 + t**2) / SEEDS) ** 0.5 for (a, s), (b, t) in pairs)

    def text(self, record: Record) -> str:
        """The line as Markdown; an error when the record contradicts it."""
        beaten = [control.label for control in self.controls if self.beats(record, control)]
        if sorted(beaten) != sorted(self.beaten):
            said = ", ".join(self.beaten) or "none"
            found = ", ".join(beaten) or "none"
            raise SystemExit(f"docs/claims.py: {self.what}: says that it beats {said}; {self.record}.json: {found}")
        controls = "; ".join(f"{control.label} {control.text(record)}" for control in self.controls)
        return f"| {self.what} | {self.here.text(record)} | {controls} | {self.so} |"
