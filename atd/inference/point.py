"""Where the x of many texts are, and what is known there: `Point` while a solver moves, `Inferred` when it is done.

n texts, D attribute dim.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor


@dataclass
class Point:
    """One x for every text, with the negative log-likelihood, J and ∇J there."""

    x_nD: Tensor
    nll_n: Tensor
    J_n: Tensor
    g_nD: Tensor

    def select(self, rows: Tensor) -> Point:
        """The same for some of the texts."""
        return Point(self.x_nD[rows], self.nll_n[rows], self.J_n[rows], self.g_nD[rows])

    def copy(self) -> Point:
        return Point(self.x_nD.clone(), self.nll_n.clone(), self.J_n.clone(), self.g_nD.clone())

    def write(self, rows: Tensor, other: Point) -> None:
        """Let some of the texts be where they are in `other`, which has only these."""
        for field in fields(self):
            getattr(self, field.name)[rows] = getattr(other, field.name)


@dataclass
class Inferred:
    """x (n×D) and, per text, the negative log-likelihood, J, and how the solver fared.

    `grad_norm` is the norm of the part of ∇J that x can follow, and `converged` says whether it is small enough.
    """

    x: Tensor
    nll: Tensor
    objective: Tensor
    iterations: Tensor
    converged: Tensor
    grad_norm: Tensor

    @classmethod
    def at(cls, x_nD: Tensor) -> Inferred:
        """Nothing known yet but x."""
        zero_n = x_nD.new_zeros(len(x_nD), dtype=torch.double)
        return cls(
            x=x_nD.clone(),
            nll=zero_n.clone(),
            objective=zero_n + torch.inf,
            iterations=zero_n.long(),
            converged=zero_n.bool(),
            grad_norm=zero_n.clone(),
        )

    @classmethod
    def of(cls, point: Point, iterations_n: Tensor, converged_n: Tensor, norm_n: Tensor) -> Inferred:
        """What a solver knows after so many iterations."""
        return cls(point.x_nD, point.nll_n, point.J_n, iterations_n, converged_n, norm_n.double())

    @classmethod
    def join(cls, parts: list[Inferred]) -> Inferred:
        """The texts of all parts, one part after another."""
        return cls(*(torch.cat([getattr(part, field.name) for part in parts]) for field in fields(cls)))

    def select(self, rows: Tensor) -> Inferred:
        """The same for some of the texts."""
        return Inferred(*(getattr(self, field.name)[rows] for field in fields(self)))

    def write(self, rows: Tensor, part: Inferred) -> None:
        """Put what is known of some of the texts in its place."""
        for field in fields(self):
            getattr(self, field.name)[rows] = getattr(part, field.name)
