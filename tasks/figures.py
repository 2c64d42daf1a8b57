"""The pictures reports share. Each returns a matplotlib figure; colours are readable without colour vision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5c6675", "#b8a100")  # Okabe–Ito
MARKERS = "osD^vP*X"


def axes(width: float = 6.4, height: float = 4.0) -> tuple[Figure, Axes]:
    """One empty plot, drawn without a screen or global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def learning_curves(curves: Mapping[str, Sequence[Mapping[str, float]]], metric: str = "val/perplexity") -> Figure:
    """A metric against the epoch, one line per model."""
    figure, ax = axes()
    for i, (name, epochs) in enumerate(curves.items()):
        points = [(e["epoch"], e[metric]) for e in epochs if metric in e]
        colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]
        ax.plot(*zip(*points, strict=True), marker=marker, color=colour, label=name)
    ax.set_xlabel("epoch")
    ax.set_ylabel(metric.split("/")[-1])
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.grid(alpha=0.3)
    ax.legend()
    return figure


def bars(values: Mapping[str, float], ylabel: str, errors: Mapping[str, float] | None = None) -> Figure:
    figure, ax = axes(max(4.0, 0.9 * len(values) + 1))
    names = list(values)
    drawn = ax.bar(names, list(values.values()), color=[COLOURS[i % len(COLOURS)] for i in range(len(names))])
    if errors:
        spread = [errors.get(name, 0) for name in names]
        ax.errorbar(names, list(values.values()), spread, fmt="none", color="black", capsize=3)
    ax.bar_label(drawn, fmt="%.1f", padding=2)
    ax.set_ylabel(ylabel)
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def heatmap(matrix: np.ndarray, names: Sequence[str], label: str, columns: Sequence[str] | None = None) -> Figure:
    """A matrix with named rows and columns; small ones show their numbers."""
    columns = names if columns is None else columns
    size = max(4.5, 0.38 * len(columns) + 2.5)
    figure, ax = axes(size, max(3.5, 0.38 * len(names) + 1.8))
    signed = matrix.min() < 0
    bound = np.abs(matrix).max()
    limits = {"vmin": -bound, "vmax": bound, "cmap": "RdBu_r"} if signed else {"cmap": "viridis"}
    image = ax.imshow(matrix, aspect="auto", **limits)
    ax.set_xticks(range(len(columns)), columns, rotation=45, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(len(names)), names)
    if matrix.size <= 400:
        middle = (image.norm.vmin + image.norm.vmax) / 2
        for (i, j), value in np.ndenumerate(matrix):
            dark = abs(value) > 0.6 * bound if signed else value < middle
            ax.text(j, i, f"{value:.2g}", ha="center", va="center", fontsize=7, color="white" if dark else "black")
    figure.colorbar(image, label=label, shrink=0.8)
    return figure


def scatter_map(points: np.ndarray, names: Sequence[str], groups: Sequence[str] | None = None) -> Figure:
    """Named points in the plane; no label covers another. The picture grows with their number."""
    grow = max(1.0, (len(names) / 60) ** 0.5)
    figure, ax = axes(8.0 * grow, 6.0 * grow)
    groups = [""] * len(names) if groups is None else list(groups)
    for i, group in enumerate(dict.fromkeys(groups)):
        chosen = np.array([g == group for g in groups])
        colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]
        ax.scatter(*points[chosen].T, color=colour, marker=marker, s=36, label=group or None)
    if any(groups):
        ax.legend()
    ax.margins(0.12 if grow > 1 else 0.18)
    ax.set_xticks([])
    ax.set_yticks([])
    label_points(ax, points, names)
    return figure


def label_points(ax: Axes, points: np.ndarray, names: Sequence[str], size: float = 8.5) -> None:
    """Write each name at the nearest free place around its point; a line joins the two when they are far apart.

    Places are tried on growing rings, so one is always found; distances are in points (1/72 inch).
    """
    from matplotlib.textpath import TextPath

    ax.figure.canvas.draw()
    ax.figure.set_layout_engine("none")  # or the labels would move the axes they were placed in
    anchor = ax.transData.transform(points) * 72 / ax.figure.dpi
    frame = np.asarray(ax.get_window_extent()) * 72 / ax.figure.dpi
    extents = [TextPath((0, 0), name or " ", size=size).get_extents() for name in names]
    half = np.array([(e.width / 2 + 2, size / 2 + 2) for e in extents])
    angle = np.pi * np.array([0, 1, 0.5, 1.5, 0.25, 0.75, 1.25, 1.75, *np.arange(0.125, 2, 0.25)])
    compass = np.stack([np.cos(angle), np.sin(angle)], 1)
    rings = np.concatenate([[5, 9, 14, 20], np.arange(28, 1500, 9)])
    taken, reach = anchor.copy(), np.full_like(anchor, 3.5)  # centres and half sizes of dots, then of labels
    for name, point, at, own in zip(names, points, anchor, half, strict=True):
        centre = at + (compass * (rings[:, None, None] + own)).reshape(-1, 2)
        inside = ((centre - own >= frame[0]) & (centre + own <= frame[1])).all(1)
        gap = np.abs(centre[:, None] - taken) - (reach + own)
        free = (gap >= 0).any(-1).all(-1)
        best = centre[np.argmax(2 * free + (free & inside))]
        taken, reach = np.vstack([taken, best]), np.vstack([reach, own])
        away = best - at
        far = (np.abs(away) > own + 12).any()
        line = {"arrowstyle": "-", "color": "#9aa4b2", "lw": 0.5, "shrinkA": 0, "shrinkB": 2} if far else None
        ax.annotate(
            name, point, away, textcoords="offset points", ha="center", va="center", fontsize=size, arrowprops=line
        )


def plane(vectors: np.ndarray) -> np.ndarray:
    """Vectors to the plane by classical scaling (PCA) of their unit-norm versions: exact and repeatable."""
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    centred = unit - unit.mean(0)
    U, S, _ = np.linalg.svd(centred, full_matrices=False)
    points = np.zeros((len(vectors), 2))
    k = min(2, len(S))
    points[:, :k] = U[:, :k] * S[:k]
    return points * np.sign(points[np.abs(points).argmax(0), [0, 1]] + 1e-300)  # signs of an SVD are arbitrary
