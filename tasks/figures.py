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
    """Named points in the plane. Labels are moved apart until none covers another."""
    figure, ax = axes(8.0, 6.0)
    groups = [""] * len(names) if groups is None else list(groups)
    for i, group in enumerate(dict.fromkeys(groups)):
        chosen = np.array([g == group for g in groups])
        colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]
        ax.scatter(*points[chosen].T, color=colour, marker=marker, s=36, label=group or None)
    if any(groups):
        ax.legend()
    ax.margins(0.18)
    ax.set_xticks([])
    ax.set_yticks([])
    label_points(ax, points, names)
    return figure


def label_points(ax: Axes, points: np.ndarray, names: Sequence[str], size: float = 8.5, steps: int = 300) -> None:
    """Write names beside their points and push overlapping labels apart (in points, a fixed number of steps)."""
    from matplotlib.textpath import TextPath

    ax.figure.canvas.draw()
    scale = 72 / ax.figure.dpi
    anchor = ax.transData.transform(points) * scale
    extents = [TextPath((0, 0), name or " ", size=size).get_extents() for name in names]
    half = np.array([(e.width / 2 + 2, size / 2 + 1.5) for e in extents])
    centre = anchor + np.c_[np.zeros(len(names)), np.full(len(names), size)]
    index = np.arange(len(names))
    tie = np.sign(index[:, None] - index)[..., None]  # labels on one spot part by their order
    for _ in range(steps):
        gap = centre[:, None] - centre[None]
        overlap = half[:, None] + half[None] - np.abs(gap)
        hit = (overlap > 0).all(-1)
        np.fill_diagonal(hit, False)
        if not hit.any():
            break
        direction = np.where(gap == 0, tie, np.sign(gap))
        push = np.where(hit, overlap[..., 1] * direction[..., 1], 0.0).sum(1)
        centre[:, 1] += 0.3 * np.clip(push, -6, 6)
    for name, point, (dx, dy) in zip(names, points, centre - anchor, strict=True):
        line = {"arrowstyle": "-", "color": "#9aa4b2", "lw": 0.6} if abs(dy) > 2 * size else None
        label = ax.annotate(
            name, point, (dx, dy), textcoords="offset points", ha="center", va="center", fontsize=size, arrowprops=line
        )
        label.set_in_layout(False)  # or the layout, and with it every anchor, would move again


def plane(vectors: np.ndarray) -> np.ndarray:
    """Vectors to the plane by classical scaling (PCA) of their unit-norm versions: exact and repeatable."""
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    centred = unit - unit.mean(0)
    U, S, _ = np.linalg.svd(centred, full_matrices=False)
    points = np.zeros((len(vectors), 2))
    k = min(2, len(S))
    points[:, :k] = U[:, :k] * S[:k]
    return points * np.sign(points[np.abs(points).argmax(0), [0, 1]] + 1e-300)  # signs of an SVD are arbitrary
