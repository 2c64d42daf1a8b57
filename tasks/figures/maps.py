"""Maps of vectors: to the plane and drawn, trees, groups of names by colour.

A attributes, D attribute dim.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from atd.attributes import correlations
from atd.errors import AtdError
from tasks.engine.canvas import COLOURS, MARKERS, PALE, Undrawn, axes, picture, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURED = 8  # groups with a colour of their own; the rest share one
OTHER = "other"  # the name of the rest
EXACT = 800  # vectors up to which t-SNE looks at every two of them
LABELLED = 300  # points that all have their names on a map
SOME = 100  # names on a map of more
FEW = 60  # names up to which each is written whole
LETTERS = 900  # of all names, for which the smallest picture has room
ANGLES = np.pi * np.array([0, 1, 0.5, 1.5, 0.25, 0.75, 1.25, 1.75, *np.arange(0.125, 2, 0.25)])
COMPASS = np.stack([np.cos(ANGLES), np.sin(ANGLES)], 1)  # where around its point a label is tried
RINGS = np.split(np.concatenate([[5, 9, 14, 20], np.arange(28, 1500, 9)]), [4, 12, 28, 60, 108])  # how far away


@picture
def scatter_map(points: np.ndarray, names: Sequence[str], groups: Sequence[str] | None = None) -> Figure:
    """Named points in the plane; no label covers another. The picture grows with the letters of the labels.

    A name may be empty: its point has no label.
    """
    most = len(names) if len(names) <= LABELLED else SOME
    labelled = np.array([i for i in spread_out(points, most) if names[i]], int)
    groups = [""] * len(names) if groups is None else list(groups)
    crowded = len(labelled) < len(names)
    texts = [beside_its_group(names[i], groups[i]) if len(labelled) > FEW else names[i] for i in labelled]
    texts = [shortened(text, 32 if crowded else 60) for text in texts]
    grow = max(1.0, (sum(map(len, texts)) / LETTERS) ** 0.5)
    figure, ax = axes(8.0 * grow, 6.0 * grow)
    pale = min(0.8, max(0.3, 600 / max(len(names), 1)))  # so that thousands of points show where they are dense
    look: dict[str, Any] = {"s": 18, "alpha": pale, "linewidths": 0} if crowded else {"s": 36}
    if not any(names):
        look = {"s": 18, "alpha": 0.6, "linewidths": 0}
    for i, group in enumerate(sorted(dict.fromkeys(groups), key=lambda g: g == OTHER)):  # the rest comes last
        chosen = np.array([g == group for g in groups])
        colour = PALE if group == OTHER else COLOURS[i % len(COLOURS)]
        marker = MARKERS[i % len(MARKERS)]
        ax.scatter(
            points[chosen, 0], points[chosen, 1], color=colour, marker=marker, label=shortened(group) or None, **look
        )
    if any(groups):
        above: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": 4, "frameon": False}
        for handle in filter(None, ax.legend(**above, markerscale=1.5 if crowded else 1).legend_handles):
            handle.set(alpha=1)
    ax.margins(0.12 if grow > 1 else 0.18)
    ax.set_xticks([])
    ax.set_yticks([])
    label_points(ax, points[labelled], texts)
    return figure


def beside_its_group(name: str, group: str) -> str:
    """What a label says where the legend says the group: male/20s/law of male/20s is law."""
    rest = name.removeprefix(group)
    return rest.lstrip("/-=_ ") if rest and rest != name and not rest[0].isalnum() else name


def spread_out(points: np.ndarray, most: int) -> np.ndarray:
    """All points, or where they are too many to label one of each part of the plane, at most so many."""
    if len(points) <= most:
        return np.arange(len(points))
    low, high = points.min(0), points.max(0)
    sides = int(most**0.5)
    cell = np.minimum((points - low) / np.maximum(high - low, 1e-12) * sides, sides - 1).astype(int)
    return np.sort(np.unique(cell[:, 0] * sides + cell[:, 1], return_index=True)[1])


def label_points(ax: Axes, points: np.ndarray, names: Sequence[str], size: float = 8.5) -> None:
    """Write each name at the nearest free place around its point; a line joins the two when they are far apart.

    Places are tried on growing rings, so one is always found; distances are in points (1/72 inch).
    """
    from matplotlib.textpath import TextPath

    figure: Any = ax.figure
    figure.canvas.draw()
    figure.set_layout_engine("none")  # or the labels would move the axes they were placed in
    anchor = ax.transData.transform(points) * 72 / figure.dpi
    frame = np.asarray(ax.get_window_extent()) * 72 / figure.dpi
    widths = [np.ptp(TextPath((0, 0), name.strip() or "x", size=size).vertices[:, 0]) for name in names]
    half = np.array([(width / 2 + 2, size / 2 + 2) for width in widths])
    taken, reach = anchor.copy(), np.full_like(anchor, 3.5)  # centres and half sizes of dots, then of labels
    for name, point, at, own in zip(names, points, anchor, half, strict=True):
        best = free_place(at, own, frame, taken, reach)
        taken, reach = np.vstack([taken, best]), np.vstack([reach, own])
        away = best - at
        far = (np.abs(away) > own + 12).any()
        line = {"arrowstyle": "-", "color": PALE, "lw": 0.5, "shrinkA": 0, "shrinkB": 2} if far else None
        ax.annotate(
            name, point, away, textcoords="offset points", ha="center", va="center", fontsize=size, arrowprops=line
        )


def free_place(at: np.ndarray, own: np.ndarray, frame: np.ndarray, taken: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """The first centre on rings around `at` where a box of half size `own` covers nothing, within the frame if it can.

    Most find theirs on the inner rings, so the others are looked at only when these are full.
    """
    outside = None
    for rings in RINGS:
        centre = at + (COMPASS * (rings[:, None, None] + own)).reshape(-1, 2)
        near = (np.abs(taken - at) < reach + own + np.abs(centre - at).max(0)).all(1)
        free = (np.abs(centre[:, None] - taken[near]) >= reach[near] + own).any(-1).all(-1)
        inside = ((centre - own >= frame[0]) & (centre + own <= frame[1])).all(1)
        if (free & inside).any():
            return centre[np.argmax(free & inside)]
        if outside is None and free.any():
            outside = centre[np.argmax(free)]
    return at + COMPASS[0] * (RINGS[0][0] + own) if outside is None else outside


def plane(vectors: np.ndarray) -> np.ndarray:
    """Vectors to the plane by classical scaling (PCA) of their unit-norm versions: exact and repeatable."""
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    centred = unit - unit.mean(0)
    U, S, _ = np.linalg.svd(centred, full_matrices=False)
    points = np.zeros((len(vectors), 2))
    k = min(2, len(S))
    points[:, :k] = U[:, :k] * S[:k]
    return points * np.sign(points[np.abs(points).argmax(0), [0, 1]] + 1e-300)  # signs of an SVD are arbitrary


def project(x_AD: np.ndarray, method: str, perplexity: float, seed: int) -> np.ndarray:
    """Vectors of unit norm to the plane (A×2), so that distances follow cosines. Started at PCA: repeatable."""
    if method == "pca":
        return plane(x_AD)
    unit = x_AD / np.maximum(np.linalg.norm(x_AD, axis=1, keepdims=True), 1e-12)
    if method == "mds":
        from sklearn.manifold import MDS

        return MDS(n_components=2, n_init=1, init="classical_mds", random_state=seed).fit_transform(unit)
    from sklearn.manifold import TSNE

    perplexity = min(perplexity, max(1.0, (len(x_AD) - 1) / 3))
    start = plane(x_AD)
    start = 1e-4 * start / max(start.std(), 1e-12)
    method = "exact" if len(x_AD) <= EXACT else "barnes_hut"
    return TSNE(perplexity=perplexity, init=start, random_state=seed, method=method).fit_transform(unit)


def neighbours_kept(x_AD: np.ndarray, points: np.ndarray, k: int = 5) -> float:
    """Per cent of the k nearest attributes (by cosine) that are among the k nearest on the map."""
    k = min(k, len(x_AD) - 1)
    unit = x_AD / np.maximum(np.linalg.norm(x_AD, axis=1, keepdims=True), 1e-12)
    near = [np.argsort(distances(v), axis=1)[:, :k] for v in (unit, points)]
    return float(100 * np.mean([len(set(a) & set(b)) / k for a, b in zip(*near, strict=True)]))


def distances(v_AD: np.ndarray) -> np.ndarray:
    """Squared, of every two (A×A); nothing is near itself."""
    size_A = np.square(v_AD).sum(1)
    return size_A[:, None] + size_A - 2 * v_AD @ v_AD.T + 1e9 * np.eye(len(v_AD))


def groups_of(names: Sequence[str], pattern: str) -> list[str]:
    """The part of each name that gives its colour; rare ones share "other"."""
    try:
        found = [re.search(pattern, name) for name in names]
    except re.error as error:
        raise AtdError(f"task.colour={pattern}: not a regular expression ({error})") from None
    parts = [m.group(0) if m else OTHER for m in found]
    return coloured(parts, least=2)


def coloured(groups: Sequence[str], least: int = 1) -> list[str]:
    """The largest groups, as many as there are colours; the rest, and those with fewer than so many, share "other"."""
    size = Counter(groups)
    large = sorted((group for group, n in size.items() if n >= least and group != OTHER), key=lambda g: (-size[g], g))
    usual = large if len(large) == len(size) <= COLOURED else large[: COLOURED - 1]
    return [group if group in usual else OTHER for group in groups]


def dendrogram(x_AD: np.ndarray, names: Sequence[str]) -> tuple[list[int], Figure | Undrawn]:
    """Average-linkage tree on 1 − correlation: the order of its leaves from the top, and the picture."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    distance = np.clip(1 - correlations(x_AD), 0, 2)
    np.fill_diagonal(distance, 0)
    tree = linkage(squareform(distance, checks=False), "average", optimal_ordering=len(names) <= 500)
    return leaves_list(tree)[::-1].tolist(), tree_picture(tree, names)


@picture
def tree_picture(tree: np.ndarray, names: Sequence[str]) -> Figure:
    from scipy.cluster.hierarchy import dendrogram as draw

    figure, ax = axes(7.0, max(3.0, 0.22 * len(names) + 0.8))
    draw(
        tree,
        labels=list(map(shortened, names)),
        orientation="right",
        ax=ax,
        color_threshold=0,
        above_threshold_color="#0072b2",
        leaf_font_size=8,
    )
    ax.set_xlabel("1 − correlation")
    ax.spines[["top", "right", "left"]].set_visible(False)
    return figure
