"""Pictures of a search: its history, the settings side by side, what mattered, and the trials' learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tasks.engine.canvas import COLOURS, axes, count_along, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tasks.engine.sweep.report import Trial

PRUNED = "#9aa4b2"
FEW = 4  # numbers along an axis


@picture
def history(trials: Sequence[Trial], metric: str, lower: bool) -> Figure:
    """Each trial's value, and the best so far."""
    figure, ax = axes()
    for state, colour, marker in (("complete", COLOURS[0], "o"), ("pruned", PRUNED, "x")):
        points = [(t.number, t.value) for t in trials if t.state == state and t.value is not None]
        if points:
            ax.scatter(*zip(*points, strict=True), color=colour, marker=marker, label=state)
    done = [t for t in trials if t.state == "complete"]
    best = (np.minimum if lower else np.maximum).accumulate([t.final for t in done])
    at = [*(t.number for t in done), trials[-1].number]
    ax.step(at, [*best, best[-1]], where="post", color=COLOURS[1], label="best so far")
    ax.set_xlabel("trial")
    ax.set_ylabel(metric)
    count_along(ax.xaxis)
    spread(ax, [t.value for t in trials if t.value is not None], lower)
    ax.grid(alpha=0.3)
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)  # beside the points, not over them
    return figure


def spread(ax: Axes, values: Sequence[float], lower: bool) -> None:
    """A logarithmic scale where one bad trial would press all others to the axis."""
    low, middle, high = np.min(values), np.median(values), np.max(values)
    if lower and low > 0 and high - low > 6 * (middle - low) > 0:
        ax.set_yscale("log")


@picture
def parallel_coordinates(trials: Sequence[Trial], names: Sequence[str], metric: str, lower: bool) -> Figure:
    """One line per finished trial through its settings to its value; the better, the darker, the best in orange."""
    done = sorted((t for t in trials if t.state == "complete"), key=lambda t: t.final, reverse=lower)
    columns = [[t.params.get(name) for t in done] for name in names] + [[t.value for t in done]]
    figure, ax = axes(max(6.4, 1.5 * len(columns)), 4.6)
    heights = []
    for i, column in enumerate(columns):
        height, ticks = scale(column)
        heights.append(height)
        ax.axvline(i, color="#5c6675", lw=0.8)
        for at, label in ticks:
            above: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
            ax.text(i + 0.03, at, label, fontsize=7.5, va="center", zorder=4, bbox=above)
    for j, line in enumerate(np.array(heights).T):
        style: dict[str, Any] = {"color": COLOURS[0], "lw": 1.1, "alpha": 0.1 + 0.6 * j / len(done)}
        if j == len(done) - 1:
            style = {"color": COLOURS[1], "lw": 2.4}
        ax.plot(range(len(columns)), line, **style)
    ax.set_xticks(range(len(columns)), [*names, metric], rotation=20, ha="right", rotation_mode="anchor")
    ax.set_yticks([])
    ax.set_xlim(-0.1, len(columns) - 0.6)
    ax.set_ylim(-0.06, 1.06)
    ax.spines[:].set_visible(False)
    return figure


def scale(column: Sequence[Any]) -> tuple[np.ndarray, list[tuple[float, str]]]:
    """Values on [0, 1], with labelled ticks: by order for words, by logarithm where numbers span decades."""
    if not all(isinstance(v, int | float) for v in column):
        kinds = sorted({str(v) for v in column})
        place = {kind: (i + 0.5) / len(kinds) for i, kind in enumerate(kinds)}
        return np.array([place[str(v)] for v in column]), [(at, kind) for kind, at in place.items()]
    values = np.array(column, float)
    low, high = values.min(), values.max()
    if low == high:
        return np.full(len(values), 0.5), [(0.5, f"{low:.3g}")]
    log = low > 0 and high / low > 10
    marks = np.geomspace(low, high, FEW) if log else np.linspace(low, high, FEW)
    if len(different := np.unique(values)) <= FEW:
        marks = different
    turn = np.log if log else np.asarray

    def place_of(x: np.ndarray) -> np.ndarray:
        return (turn(x) - turn(low)) / (turn(high) - turn(low))

    return place_of(values), [(float(place_of(m)), f"{m:.3g}") for m in marks]


@picture
def importances(shares: Mapping[str, float]) -> Figure:
    """How much of the spread of values each setting explains."""
    names = sorted(shares, key=lambda name: shares[name])
    figure, ax = axes(6.4, 0.45 * len(names) + 1.2)
    drawn = ax.barh(names, [100 * shares[name] for name in names], color=COLOURS[0])
    ax.bar_label(drawn, fmt="%.0f %%", padding=3, fontsize=8)
    ax.set_xlabel("share of the variance between trials, %")
    ax.margins(x=0.12)
    ax.spines[["top", "right"]].set_visible(False)
    return figure


@picture
def curves(trials: Sequence[Trial], metric: str, best: Trial, lower: bool) -> Figure:
    """The watched validation curve of every trial."""
    figure, ax = axes()
    for trial in trials:
        if trial.curve:
            epochs, values = zip(*sorted(trial.curve.items()), strict=True)
            style: dict[str, Any] = {"color": COLOURS[0], "lw": 1, "alpha": 0.5}
            if trial.state == "pruned":
                style = {"color": PRUNED, "lw": 1, "ls": "--", "marker": "x"}
            if trial is best:
                style = {"color": COLOURS[1], "lw": 2.4, "zorder": 3}
            ax.plot([epoch + 1 for epoch in epochs], values, **style)
    ax.set_xlabel("epoch")
    ax.set_ylabel(metric)
    count_along(ax.xaxis)
    spread(ax, [v for t in trials for v in t.curve.values()], lower)
    ax.grid(alpha=0.3)
    return figure
