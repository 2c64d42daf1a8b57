"""Maps of an attribute table: the plane, correlations, a family tree, nearest attributes, a − b + c.

A attributes, D attribute dim.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from atd.errors import AtdError
from atd.mix import parse
from tasks.evaluation import similarities
from tasks.figures import axes, heatmap, plane, scatter_map
from tasks.result import Result
from tasks.similarity import trained_model

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from omegaconf import DictConfig

COLOURED = 8  # groups with a colour of their own; the rest share one
NUMBERED = 60  # attributes up to which the correlation matrix can be read


def run(cfg: DictConfig, out: Path) -> Result:
    trained = trained_model(cfg)
    x_AD, names = trained.model.attributes.vectors().detach().numpy(), trained.attributes
    if len(names) < 3:
        raise AtdError(f"checkpoint={cfg.checkpoint}: has {len(names)} attributes; a map needs at least 3")
    points = project(x_AD, cfg.task.method, cfg.task.perplexity, cfg.seed)
    kept = neighbours_kept(x_AD, points)
    groups = groups_of(names, cfg.task.colour)
    result = Result("maps", "atd/neighbours_kept", {"atd": {"neighbours_kept": kept}})
    result.figure(
        "attribute_map",
        scatter_map(points, names, groups),
        f"Attribute vectors in the plane ({cfg.task.method}): near = alike. {kept:.0f} % of each attribute's five "
        "nearest are among its five nearest on the map.",
    )
    order, tree = dendrogram(x_AD, names)
    result.figure("family_tree", tree, "Average linkage on 1 − correlation: the earlier two meet, the more alike.")
    similar = similarities(x_AD)
    if len(names) <= NUMBERED:
        ordered = [names[i] for i in order]
        caption = "Correlation between attribute vectors, in the order of the family tree."
        result.figure("correlation", heatmap(similar[np.ix_(order, order)], ordered, "correlation"), caption)
    nearest(result, names, similar, cfg.task.shown)
    mixes(result, names, x_AD, list(cfg.task.mix), cfg.task.shown)
    write_csv(out / "attribute_map.csv", names, points, groups)
    return result


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
    return TSNE(perplexity=perplexity, init=start, random_state=seed, method="exact").fit_transform(unit)


def neighbours_kept(x_AD: np.ndarray, points: np.ndarray, k: int = 5) -> float:
    """Per cent of the k nearest attributes (by cosine) that are among the k nearest on the map."""
    k = min(k, len(x_AD) - 1)
    unit = x_AD / np.maximum(np.linalg.norm(x_AD, axis=1, keepdims=True), 1e-12)
    far = [((v[:, None] - v[None]) ** 2).sum(-1) + 1e9 * np.eye(len(v)) for v in (unit, points)]
    near = [np.argsort(d, axis=1)[:, :k] for d in far]
    return float(100 * np.mean([len(set(a) & set(b)) / k for a, b in zip(*near, strict=True)]))


def groups_of(names: Sequence[str], pattern: str) -> list[str]:
    """The part of each name that gives its colour; rare ones share "other"."""
    try:
        found = [re.search(pattern, name) for name in names]
    except re.error as error:
        raise AtdError(f"task.colour={pattern}: not a regular expression ({error})") from None
    parts = [m.group(0) if m else "other" for m in found]
    usual = [part for part, n in Counter(parts).most_common(COLOURED - 1) if n > 1]
    return [part if part in usual else "other" for part in parts]


def dendrogram(x_AD: np.ndarray, names: Sequence[str]) -> tuple[list[int], Figure]:
    """Average-linkage tree on 1 − correlation: the order of its leaves, and the picture."""
    from scipy.cluster.hierarchy import dendrogram as draw
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    distance = np.clip(1 - similarities(x_AD), 0, 2)
    np.fill_diagonal(distance, 0)
    figure, ax = axes(7.0, max(3.0, 0.22 * len(names) + 0.8))
    tree = draw(
        linkage(squareform(distance, checks=False), "average", optimal_ordering=len(names) <= 500),
        labels=list(names),
        orientation="right",
        ax=ax,
        color_threshold=0,
        above_threshold_color="#0072b2",
        leaf_font_size=8,
    )
    ax.set_xlabel("1 − correlation")
    ax.spines[["top", "right", "left"]].set_visible(False)
    return tree["leaves"][::-1], figure


def nearest(result: Result, names: Sequence[str], similar: np.ndarray, k: int) -> None:
    order = np.argsort(-(similar - 3 * np.eye(len(names))), axis=1)[:, : min(k, len(names) - 1)]
    rows = [[name, *(f"{names[j]} ({similar[i, j]:.2f})" for j in order[i])] for i, name in enumerate(names)]
    result.table("Nearest attributes", ["attribute", *map(str, range(1, order.shape[1] + 1))], rows, "By correlation.")


def mixes(result: Result, names: Sequence[str], x_AD: np.ndarray, texts: Sequence[str], k: int) -> None:
    """a − b + c: the attributes nearest to a mix by cosine to it, those named in it left out."""
    rows = []
    unit = x_AD / np.maximum(np.linalg.norm(x_AD, axis=1, keepdims=True), 1e-12)
    for text in texts:
        weights = parse(text, names).numpy()
        x = weights @ x_AD
        cosine = unit @ x / max(np.linalg.norm(x), 1e-12)
        cosine[weights != 0] = -np.inf
        best = np.argsort(-cosine)[: min(k, int((weights == 0).sum()))]
        rows.append([text, ", ".join(f"{names[i]} ({cosine[i]:.2f})" for i in best)])
    if rows:
        result.table("Nearest to a mix", ["mix", "nearest attributes (cosine)"], rows)


def write_csv(path: Path, names: Sequence[str], points: np.ndarray, groups: Sequence[str]) -> None:
    import csv

    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["attribute", "x", "y", "group"])
        writer.writerows([n, *map(float, p), g] for n, p, g in zip(names, points, groups, strict=True))
