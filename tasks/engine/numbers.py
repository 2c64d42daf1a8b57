"""Numbers as people read them: a column of a table has the same digits in every line, and a unit at its head."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

import numpy as np

from tasks.engine.result import Spread

MOST = 6  # decimal places
UNITS = {  # of metrics, by their names
    "%": r"(.*accuracy.*|(fine|binary)(_dev)?|(heldout|retrieval|sib200|taxi1500)(_.*)?|words_.*|style_.*"
    r"|calibration_error|mixes_between|nearest_.*|unknown_words|variety|copied|above_atd.*|below_lbl|typology|gender|age|industry|fluency"
    r"|neighbours_kept|own_above_others|converged|coverage|p_below_5%|shuffles_without_find|false_when_.*)",
    "s": r"(.*_)?seconds",
    "ms": r"(.*_)?milliseconds",
    "MB": r"(.*_)?megabytes",
}
IN_NAME = {
    "s": ("seconds", "time"),
    "ms": ("milliseconds", "time"),
    "MB": ("megabytes", "size"),
}  # and what is measured
NOTHING = 1e-12  # what is nearer to zero is what rounding has left of it
NUMBER = re.compile(r"(< )?[+−-]?\d[\d,]*(\.\d+)?(e[+−-]?\d+)?( %)?( ± \d+(\.\d+)?)?( \([^()]*\))?")


def number(cell: object, places: int | None = None) -> str:
    """A cell as text; floats with so many decimal places, or as many as they need when they stand alone."""
    if cell is None:
        return ""
    if isinstance(cell, Spread) and not math.isfinite(cell.mean):
        cell = cell.mean
    if isinstance(cell, Spread):
        places = decimals([cell.mean]) if places is None else places
        return f"{number(cell.mean, places)} ± {cell.sd:.{places}f}"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if not isinstance(cell, float):
        return str(cell)
    if not math.isfinite(cell):
        return "–" if math.isnan(cell) else str(cell)
    if abs(cell) < NOTHING:
        cell = 0.0
    shown = f"{cell:.{decimals([cell]) if places is None else places}f}"
    return f"{cell:.1g}" if cell and not float(shown) else shown


def three_digits(value: float) -> str:
    """Three digits that count, never a power of ten: 0.000292, 1.3, 222, 27,200,000."""
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 100 else np.format_float_positional(rounded, trim="-")


def decimals(values: Iterable[float]) -> int:
    """Decimal places that show the largest of some numbers to three or four digits."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if largest >= 10 or largest < NOTHING:
        return 1
    return 3 if largest >= 0.1 else min(2 - math.floor(math.log10(largest)), MOST)


def lines(rows: Sequence[Sequence[object]]) -> list[list[str]]:
    """The rows of a table as text, each column with even digits."""
    columns = [[number(cell, places) for cell in column] for column in zip(*rows) for places in [places_of(column)]]
    return [list(line) for line in zip(*columns)]


def places_of(column: Iterable[object]) -> int:
    means = [cell.mean if isinstance(cell, Spread) else cell for cell in column]
    return decimals([value for value in means if isinstance(value, float)])


def with_unit(metric: str) -> str:
    """The name of a metric as the head of a column: words, and what its numbers are counted in."""
    unit = next((unit for unit, names in UNITS.items() if re.fullmatch(names, metric)), "")
    counted, measured = IN_NAME.get(unit, ("", ""))
    name = measured if metric == counted else metric.removesuffix(f"_{counted}")
    return ", ".join(filter(None, [name.replace("_", " "), unit]))
