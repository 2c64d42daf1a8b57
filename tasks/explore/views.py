"""Maps of the attributes: one of them all, and where x is a sum over several terms, one of each term.

A attributes, D attribute dim.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from atd.design import Design
from atd.neighbours import unit
from tasks.figures.maps import plane, project

LINEAR = 40  # attributes up to which a map is a projection, on which any vector has an exact place
EXACT = 800  # up to which t-SNE compares all pairs; 5,000 take a quarter of a minute by its approximation
STEPS = 500  # of the approximation


class View:
    """Some attributes on a plane."""

    def __init__(self, name: str, ids: np.ndarray, x_AD: torch.Tensor):
        self.name = name
        self.ids = ids
        x = x_AD[torch.from_numpy(ids)]
        self.unit_AD = unit(x).numpy()
        self.points = points_of(x.numpy())
        self.centre = self.unit_AD.mean(0)
        self.to_plane = np.linalg.lstsq(self.unit_AD - self.centre, self.points, rcond=1e-6)[0]

    def place(self, x_D: torch.Tensor) -> list[float]:
        """Where a vector lies: projected, or on a t-SNE map amid the attributes it is most like."""
        x = unit(x_D).numpy()
        if len(self.ids) <= LINEAR:
            return ((x - self.centre) @ self.to_plane).tolist()
        weight = np.exp(30 * (self.unit_AD @ x))
        return (weight @ self.points / weight.sum()).tolist()


def views(design: Design, x_AD: torch.Tensor) -> list[View]:
    return [View(name, ids, x_AD) for name, ids in shown(design)]


def shown(design: Design) -> Iterator[tuple[str, np.ndarray]]:
    """The name of every view, and the attributes in it."""
    yield "all", np.arange(len(design.term_A))
    if len(design.terms) == 1:
        return
    for t, term in enumerate(design.terms):
        yield " × ".join(design.columns[q].name for q in term), np.flatnonzero(design.term_A == t)


def points_of(x_AD: np.ndarray) -> np.ndarray:
    """Vectors to the plane (A×2); equal vectors give equal maps."""
    if len(x_AD) <= LINEAR:
        return plane(x_AD)
    if len(x_AD) <= EXACT:
        return project(x_AD, "tsne", 15, 0)
    from sklearn.manifold import TSNE

    length = np.maximum(np.linalg.norm(x_AD, axis=1, keepdims=True), 1e-12)
    start = plane(x_AD)
    start = 1e-4 * start / max(start.std(), 1e-12)
    return TSNE(perplexity=15, init=start, random_state=0, max_iter=STEPS).fit_transform(x_AD / length)
