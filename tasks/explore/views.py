"""Maps of the attributes: one of them all, and where x is a sum over several terms, one of each term.

A attributes, D attribute dim, B vectors to be placed, N attributes near them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from atd.design import Design
from atd.neighbours import unit
from tasks.figures.maps import plane

LINEAR = 40  # attributes up to which a map is a projection, on which any vector has an exact place
SPREAD = 1000  # attributes that t-SNE spreads out, those with most text; the others lie amid these. A second of work
STEPS = 300  # of t-SNE
NEAR = 3  # attributes amid which a vector lies
BLOCK = 5000  # vectors placed at once


class View:
    """Some attributes on a plane."""

    def __init__(self, name: str, ids: np.ndarray, x_AD: torch.Tensor, words_A: np.ndarray):
        self.name = name
        self.ids = ids
        self.unit_AD = unit(x_AD[torch.from_numpy(ids)]).numpy()
        self.points = points_of(self.unit_AD, words_A[ids])
        self.centre = self.unit_AD.mean(0)
        self.to_plane = np.linalg.lstsq(self.unit_AD - self.centre, self.points, rcond=1e-6)[0]

    def place(self, x_D: torch.Tensor) -> list[float]:
        """Where a vector lies: projected, or on a t-SNE map amid the attributes it is most like."""
        x = unit(x_D).numpy()
        if len(self.ids) <= LINEAR:
            return ((x - self.centre) @ self.to_plane).tolist()
        return amid(x[None], self.unit_AD, self.points)[0].tolist()


def views(design: Design, x_AD: torch.Tensor) -> list[View]:
    words_A = design.words_A if len(design.words_A) else np.zeros(len(x_AD))
    return [View(name, ids, x_AD, words_A) for name, ids in shown(design)]


def shown(design: Design) -> Iterator[tuple[str, np.ndarray]]:
    """The name of every view, and the attributes in it."""
    yield "all", np.arange(len(design.term_A))
    if len(design.terms) == 1:
        return
    for t, term in enumerate(design.terms):
        yield " × ".join(design.columns[q].name for q in term), np.flatnonzero(design.term_A == t)


def points_of(unit_AD: np.ndarray, words_A: np.ndarray) -> np.ndarray:
    """Vectors of unit length to the plane (A×2); equal vectors give equal maps."""
    if len(unit_AD) <= LINEAR:
        return plane(unit_AD)
    often = np.argsort(-words_A, kind="stable")[:SPREAD]
    points = np.empty((len(unit_AD), 2))
    points[often] = spread_out(unit_AD[often])
    rest = np.setdiff1d(np.arange(len(unit_AD)), often)
    for some in np.array_split(rest, np.arange(BLOCK, len(rest), BLOCK)):
        points[some] = amid(unit_AD[some], unit_AD[often], points[often])
    return points


def spread_out(unit_AD: np.ndarray) -> np.ndarray:
    from sklearn.manifold import TSNE

    start = plane(unit_AD)
    start = 1e-4 * start / max(start.std(), 1e-12)
    return TSNE(perplexity=15, init=start, random_state=0, max_iter=STEPS).fit_transform(unit_AD)


def amid(x_BD: np.ndarray, unit_AD: np.ndarray, points_A2: np.ndarray) -> np.ndarray:
    """The places of vectors among others that have one: the mean over those most alike, the nearest counting most."""
    cosine_BA = x_BD @ unit_AD.T
    near_BN = np.argpartition(-cosine_BA, NEAR, axis=1)[:, :NEAR]
    cosine_BN = np.take_along_axis(cosine_BA, near_BN, 1)
    weight_BN = np.exp(30 * (cosine_BN - cosine_BN.max(1, keepdims=True)))
    return (weight_BN[..., None] * points_A2[near_BN]).sum(1) / weight_BN.sum(1)[:, None]
