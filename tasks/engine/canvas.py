"""One empty plot, the colours and markers of all pictures, and what becomes of a picture that cannot be drawn."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ParamSpec

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

P = ParamSpec("P")
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5c6675", "#b8a100")  # Okabe–Ito
MARKERS = "osD^vP*X"
PALE = "#9aa4b2"  # what has no colour of its own


@dataclass(frozen=True)
class Undrawn:
    """In place of a picture: why there is none."""

    reason: str

    @classmethod
    def of(cls, error: Exception) -> Undrawn:
        reason = f"This picture could not be drawn: {' '.join(str(error).split()) or type(error).__name__}"
        print(reason, file=sys.stderr)
        return cls(reason)


def picture(draw: Callable[P, Figure]) -> Callable[P, Figure | Undrawn]:
    """For functions that draw: a failure costs the picture, not the run whose last step it is."""

    @functools.wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Figure | Undrawn:
        try:
            return draw(*args, **kwargs)
        except Exception as error:
            return Undrawn.of(error)

    return drawn


def axes(width: float = 6.4, height: float = 4.0) -> tuple[Figure, Axes]:
    """One empty plot, drawn without a screen. Its labels are text as it is: no `$` in a name begins a formula."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    matplotlib.rcParams["text.parse_math"] = False
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def plain_decades(figure: Figure) -> None:
    """Numbers along logarithmic axes as plain text; matplotlib writes formulas there."""
    from matplotlib.ticker import LogFormatter

    class Plain(LogFormatter):
        """Says which ticks have a number, as LogFormatter does; the number is as people write it."""

        def __call__(self, x: float, pos: int | None = None) -> str:
            return f"{x:,.10g}" if super().__call__(x, pos) else ""

    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            if axis.get_scale() == "log":
                axis.set_major_formatter(Plain())
                axis.set_minor_formatter(Plain(labelOnlyBase=False))


def shortened(name: str, most: int = 60) -> str:
    """A name that leaves room for the picture."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def count_along(axis: Axis) -> None:
    """Ticks at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))
