"""The charts reports share. Each returns a matplotlib figure; colours are readable without colour vision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tasks.engine.canvas import COLOURS, MARKERS, axes, count_along, picture, shortened
from tasks.engine.numbers import with_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure


LEVEL = 10  # letters of a name that fits below its bar; longer ones stand aslant


@picture
def learning_curves(curves: Mapping[str, Sequence[Mapping[str, float]]], metric: str = "val/perplexity") -> Figure:
    """A metric against the epoch, one line per model."""
    figure, ax = axes()
    for i, (name, epochs) in enumerate(curves.items()):
        points = [(e["epoch"] + 1, e[metric]) for e in epochs if metric in e]  # after so many epochs
        colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]
        ax.plot(*zip(*points, strict=True), marker=marker, color=colour, label=shortened(name))
    ax.set_xlabel("epoch")
    ax.set_ylabel(with_unit(metric.split("/")[-1]))
    count_along(ax.xaxis)
    ax.grid(alpha=0.3)
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)  # beside the curves, not over them
    return figure


@picture
def bars(values: Mapping[str, float], ylabel: str, errors: Mapping[str, float] | None = None) -> Figure:
    """A bar for each name, its number above it, and above the spread of those that have one."""
    figure, ax = axes(max(4.0, 0.9 * len(values) + 1))
    names = list(values)
    at = range(len(names))  # places, not names: two may be shortened to the same
    ax.bar(at, list(values.values()), color=[COLOURS[i % len(COLOURS)] for i in at])
    for i, (name, value) in enumerate(values.items()):
        spread = (errors or {}).get(name, 0.0)
        if spread:
            ax.errorbar(i, value, spread, fmt="none", color="black", capsize=3)
        ax.annotate(f"{value:.1f}", (i, max(value, 0.0) + spread), (0, 3), textcoords="offset points", ha="center")
    longest = max((len(shortened(name)) for name in names), default=0)
    aslant: dict[str, Any] = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if longest > LEVEL else {}
    ax.set_xticks(at, list(map(shortened, names)), **aslant)
    ax.set_ylabel(ylabel)
    ax.spines[["top", "right"]].set_visible(False)
    return figure


@picture
def heatmap(matrix: np.ndarray, names: Sequence[str], label: str, columns: Sequence[str] | None = None) -> Figure:
    """A matrix with named rows and columns; small ones show their numbers."""
    columns = names if columns is None else columns
    with_numbers = matrix.size <= 400
    cell, size = (0.38, None) if with_numbers else (0.15, 7)  # inches; points of the names
    figure, ax = axes(max(4.5, cell * len(columns) + 2.5), max(3.5, cell * len(names) + 1.8))
    signed = matrix.min() < 0
    bound = np.abs(matrix).max()
    limits = {"vmin": -bound, "vmax": bound, "cmap": "RdBu_r"} if signed else {"cmap": "viridis"}
    image = ax.imshow(matrix, aspect="auto", **limits)
    aslant: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(range(len(columns)), list(map(shortened, columns)), fontsize=size, **aslant)
    ax.set_yticks(range(len(names)), list(map(shortened, names)), fontsize=size)
    if with_numbers:
        middle = (matrix.min() + matrix.max()) / 2
        digits = 0 if bound >= 100 or (matrix == np.round(matrix)).all() else 1 if bound >= 10 else 2
        for (i, j), value in np.ndenumerate(matrix):
            dark = abs(value) > 0.6 * bound if signed else value < middle
            colour = "white" if dark else "black"
            ax.text(j, i, f"{value:.{digits}f}".replace("-", "−"), ha="center", va="center", fontsize=7, color=colour)
    figure.colorbar(image, label=label, shrink=0.8)
    return figure


@picture
def intervals(values: Mapping[str, tuple[float, float, float]], xlabel: str) -> Figure:
    """A point and its interval (value, low, high) for each name, the first on top, and a line at zero."""
    figure, ax = axes(6.4, 0.9 + 0.34 * len(values))
    for y, (value, low, high) in enumerate(values.values()):
        ax.plot([low, high], [y, y], color="0.6", linewidth=2)
        ax.plot(value, y, "o", color=COLOURS[0])
    ax.axvline(0, color="0.3", linewidth=0.8)
    ax.set_yticks(range(len(values)), list(map(shortened, values)))
    ax.set_ylim(len(values) - 0.5, -0.5)
    ax.set_xlabel(xlabel)
    return figure
