"""Power curves, and the histogram of p."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from tasks.engine.canvas import COLOURS, axes, picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINES = ("-", "--")  # of the first methods, and of those for which no colour is left


@picture
def power_curves(curves: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> Figure:
    """Share of changed words found against the share of false ones in the list, a line per method."""
    figure, ax = axes(7.4)
    for i, (name, (false, power)) in enumerate(curves.items()):
        rates = np.linspace(0, 0.6, 121)
        most = [power[false <= rate].max(initial=0) for rate in rates]
        ax.plot(rates, most, color=COLOURS[i % len(COLOURS)], linestyle=LINES[i // len(COLOURS)], label=name)
    ax.set_xlabel("share of false discoveries")
    ax.set_ylabel("share of changed words found")
    ax.set_ylim(0, 1.02)
    ax.grid(alpha=0.3)
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return figure


@picture
def histogram(p: np.ndarray) -> Figure:
    """Shares of p in twenty classes; without effects all are equal."""
    figure, ax = axes()
    heights = np.histogram(p, np.linspace(0, 1, 21))[0] / len(p)
    ax.bar(np.linspace(0.025, 0.975, 20), heights, width=0.045, color=COLOURS[0])
    ax.axhline(0.05, color="0.3", linewidth=0.8)
    ax.set_xlabel("p")
    ax.set_ylabel("share of words")
    return figure
