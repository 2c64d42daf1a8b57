"""The pictures of an attribution study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from tasks.engine.canvas import COLOURS, MARKERS, axes, picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = 8  # of a curve, at most
GROUP = 25  # texts behind each point, at least
ROWS = ("stacked", "stacked without atd", "ngrams", "atd", "atd-vectors", "counts-both")  # that are drawn, if there
NORMAL = 1.96  # standard deviations of a 95 % interval


@picture
def reliability_diagram(log_p_nA: np.ndarray, label_n: np.ndarray) -> Figure:
    """How often the likeliest author is right, against his probability: groups of equal size, with 95 % intervals."""
    figure, ax = axes(4.8, 4.6)
    sure_n, right_n = np.exp(log_p_nA.max(1)), log_p_nA.argmax(1) == label_n
    parts = groups(sure_n)
    bounds = np.array([interval(right_n[part]) for part in parts])
    right = np.array([right_n[part].mean() for part in parts])
    sure = [100 * sure_n[part].mean() for part in parts]
    ax.plot([0, 100], [0, 100], color="grey", linewidth=1, label="as sure as right")
    bars = 100 * np.abs(bounds - right[:, None]).T
    ax.errorbar(sure, 100 * right, yerr=bars, fmt="o", capsize=3, color=COLOURS[0], label="texts, 95 % interval")
    ax.set_xlim(0, 103)
    ax.set_ylim(0, 103)
    ax.set_xlabel("probability of the likeliest author, %")
    ax.set_ylabel("share that is right, %")
    ax.grid(alpha=0.3)
    ax.legend(loc="upper left", frameon=False)
    return figure


@picture
def length_curve(log_p: Mapping[str, np.ndarray], words_n: np.ndarray, label_n: np.ndarray) -> Figure:
    """Accuracy against the words of a text: as many texts stand behind each point. The first row has its interval."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    figure, ax = axes()
    parts = groups(words_n)
    at = [np.median(words_n[part]) for part in parts]
    for i, (name, log_p_nA) in enumerate(log_p.items()):
        right_n = log_p_nA.argmax(1) == label_n
        shares = [100 * right_n[part].mean() for part in parts]
        ax.plot(at, shares, marker=MARKERS[i % len(MARKERS)], color=COLOURS[i % len(COLOURS)], label=name)
        if i == 0:
            low, high = 100 * np.array([interval(right_n[part]) for part in parts]).T
            ax.fill_between(at, low, high, color=COLOURS[0], alpha=0.15, linewidth=0)
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True) if max(at) < 10 * min(at) else LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda words, _: f"{words:,.0f}"))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("words of the text")
    ax.set_ylabel("attributed rightly, %")
    ax.grid(alpha=0.3)
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return figure


def drawn(rows: Iterable[str]) -> list[str]:
    """The rows of a curve: few enough to be told apart, the mixture of all first."""
    there = list(rows)
    return [row for row in ROWS if row in there]


def groups(value_n: np.ndarray) -> list[np.ndarray]:
    """Texts in groups of equal size by a value, as many as leave GROUP texts in each."""
    number = int(np.clip(len(value_n) // GROUP, 1, POINTS))
    return [part for part in np.array_split(np.argsort(value_n, kind="stable"), number) if len(part)]


def interval(right_n: np.ndarray) -> tuple[float, float]:
    """Of a share, 95 % (Wilson's)."""
    n, p, z = len(right_n), right_n.mean(), NORMAL
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return max(middle - half, 0.0), min(middle + half, 1.0)
