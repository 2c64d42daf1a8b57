"""Pictures and tables of the blog experiments: grouped bars, the map of bloggers, words as they see them.

A attributes, D attribute dim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from atd.neighbours import compare
from atd.vocabulary import SPECIALS, Vocabulary
from tasks.engine.canvas import COLOURS, MARKERS, axes, picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch import Tensor

    from atd.lm import MultiplicativeLM

# The left half of the paper's table: a word, and two bloggers to see it through.
QUERIES = (
    ("school", "female/10s/student", "male/20s/technology"),
    ("journal", "female/10s/student", "male/30s/advertising"),
    ("create", "female/30s/arts", "female/30s/internet"),
    ("joy", "male/30s/religion", "male/20s/science"),
    ("cool", "male/10s/student", "female/10s/student"),
)
SHOWN = 3


@picture
def grouped_bars(
    groups: Mapping[str, Sequence[np.ndarray]], labels: Sequence[str], ylabel: str, hatched: Sequence[str] = ()
) -> Figure:
    """One group of bars per name, one bar per label: the mean over folds, with the standard deviation."""
    figure, ax = axes(max(5.0, 1.5 * len(groups) + 1), 4.2)
    width = 0.8 / len(labels)
    lowest = min(float(s.mean() - s.std()) for series in groups.values() for s in series)
    for j in range(len(labels)):
        series = [scores[j] for scores in groups.values()]
        at = np.arange(len(groups)) + (j - (len(labels) - 1) / 2) * width
        mean, spread = [s.mean() for s in series], [s.std(ddof=1) if len(s) > 1 else 0.0 for s in series]
        colours = [COLOURS[i % len(COLOURS)] for i in range(len(groups))]
        drawn = ax.bar(
            at, mean, 0.92 * width, yerr=spread, capsize=3, color=colours, alpha=1 - 0.45 * (j == 0 < len(labels) - 1)
        )
        for name, bar in zip(groups, drawn, strict=True):
            bar.set_hatch("//" if name in hatched else "")
        ax.bar_label(drawn, labels=[f"{m:.1f}" for m in mean], padding=2, fontsize=8)
    ax.set_xticks(range(len(groups)), [name.replace("+", "\n+", 1) for name in groups])
    ax.set_ylim(bottom=max(0.0, 5 * np.floor((lowest - 5) / 5)))  # differences are small beside the whole
    ax.set_ylabel(ylabel)
    ax.spines[["top", "right"]].set_visible(False)
    if len(labels) > 1:
        ax.set_xlabel("pale: " + ", full: ".join(f"{label} inferred attribute vector" for label in labels))
    return figure


@picture
def attribute_map(x_AD: np.ndarray, names: Sequence[str], seed: int) -> Figure:
    """t-SNE of the vectors, coloured by age group, marked by gender, with the industry written small."""
    from tasks.figures.maps import LABELLED, label_points, project, spread_out

    points = project(x_AD, "tsne" if len(names) > 3 else "pca", 15, seed)
    parts = [name.split("/", 2) for name in names]
    figure, ax = axes(10.0, 8.0)
    for i, age in enumerate(sorted({age for _, age, _ in parts})):
        for j, gender in enumerate(sorted({gender for gender, _, _ in parts})):
            chosen = np.array([p[0] == gender and p[1] == age for p in parts])
            if chosen.any():
                x, y = points[chosen].T
                ax.scatter(x, y, color=COLOURS[i], marker=MARKERS[j], s=40, label=f"{age}, {gender}", alpha=0.85)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4, frameon=False)  # above the points, not over them
    shown = spread_out(points, LABELLED)
    label_points(ax, points[shown], [parts[i][2] for i in shown], size=7.5)
    return figure


def same_age(x_AD: np.ndarray, names: Sequence[str]) -> tuple[float, float]:
    """How often (%) the nearest other vector is of the same age group, and how often a random one would be."""
    unit = x_AD / np.maximum(np.linalg.norm(x_AD, axis=1, keepdims=True), 1e-12)
    cosine = unit @ unit.T - 3 * np.eye(len(names))
    age = np.array([name.split("/", 2)[1] for name in names])
    alike = age[:, None] == age
    chance = (alike.sum() - len(age)) / (len(age) * max(len(age) - 1, 1))
    return 100 * float((age[cosine.argmax(1)] == age).mean()), 100 * float(chance)


def conditional_neighbours(
    model: MultiplicativeLM, vocabulary: Vocabulary, names: Sequence[str], x_AD: Tensor
) -> list[list[str]]:
    """The paper's rows, those whose word and bloggers the corpus has."""
    rows, index = [], {name: i for i, name in enumerate(names)}
    for word, a, b in QUERIES:
        if word not in vocabulary or a not in index or b not in index:
            continue
        near = compare(model, vocabulary.id(word), x_AD[index[a]], x_AD[index[b]], exclude=range(len(SPECIALS)))
        columns = (near.common, near.unique_a, near.unique_b)
        rows.append([word, a, b, *(", ".join(vocabulary.decode(ids[:SHOWN])) for ids in columns)])
    return rows
