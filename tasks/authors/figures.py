"""The pictures of an attribution study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from tasks.engine.canvas import COLOURS, MARKERS, axes, picture
from tasks.learning.calibration import reliability

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = 6  # of the curve over length


@picture
def reliability_diagram(log_p_nA: np.ndarray, label_n: np.ndarray) -> Figure:
    """How often the likeliest author is right, against his probability; the area of a point is its share of texts."""
    figure, ax = axes(4.8, 4.6)
    sure, right, texts = reliability(log_p_nA, label_n)
    ax.plot([0, 100], [0, 100], color="grey", linewidth=1, label="as sure as right")
    ax.plot(100 * sure, 100 * right, color=COLOURS[0], linewidth=1)
    ax.scatter(100 * sure, 100 * right, s=20 + 400 * texts / texts.sum(), color=COLOURS[0])
    ax.set_xlabel("probability of the likeliest author, %")
    ax.set_ylabel("share that is right, %")
    ax.grid(alpha=0.3)
    ax.legend(loc="upper left", frameon=False)
    return figure


@picture
def length_curve(log_p: Mapping[str, np.ndarray], words_n: np.ndarray, label_n: np.ndarray) -> Figure:
    """Accuracy against the words of a text: as many texts stand behind each point."""
    figure, ax = axes()
    parts = [part for part in np.array_split(np.argsort(words_n, kind="stable"), POINTS) if len(part)]
    at = [np.median(words_n[part]) for part in parts]
    for i, (name, log_p_nA) in enumerate(log_p.items()):
        right_n = log_p_nA.argmax(1) == label_n
        shares = [100 * right_n[part].mean() for part in parts]
        line = "-" if i < len(COLOURS) else ":"
        marker, colour = MARKERS[i % len(MARKERS)], COLOURS[i % len(COLOURS)]
        ax.plot(at, shares, linestyle=line, marker=marker, color=colour, label=name)
    ax.set_xscale("log")
    ax.set_xlabel("words of the text")
    ax.set_ylabel("attributed rightly, %")
    ax.grid(alpha=0.3)
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return figure
