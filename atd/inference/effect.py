"""What x does to a position: h = r ∘ (W_fd x + g) + W_fa x, where r is W_fk r̂ of the position's context.

With r given, h is affine in x. It depends on x by the gate W_fd x + g, and in models with an additive path by the shift
W_fa x too. Solvers treat the two as one vector y = W x + …, the gate's F numbers and then the shift's, so that a logit
h·w + b is (r ∘ w)·gate + w·shift + b, a product of y with numbers that do not depend on x.

n texts, T positions, D attribute dim, F factors, Q paths (1: gate; 2: gate, shift), E = Q·F effects.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from atd.lm import MultiplicativeLM


@dataclass(frozen=True)
class Effect:
    """The weights by which x acts. `stretch_Q` is the most by which each path lengthens a difference of two x."""

    W_ED: Tensor  # W_fd and, below it, W_fa
    bias: float  # g
    F: int
    stretch_Q: Tensor

    @classmethod
    def of(cls, model: MultiplicativeLM) -> Effect:
        """Of a frozen model. One without a gate has a gate that is 1 whatever x is."""
        W_FD, bias = (model.W_fd, model.gate_bias) if model.gated else (torch.zeros_like(model.W_fd), 1.0)
        paths = [W_FD] if model.W_fa is None else [W_FD, model.W_fa]
        stretch = [torch.linalg.matrix_norm(W, 2) for W in paths]
        return cls(torch.cat(paths), bias, len(W_FD), torch.stack(stretch))

    def double(self) -> Effect:
        """The same in double precision."""
        return Effect(self.W_ED.double(), self.bias, self.F, self.stretch_Q.double())

    def __call__(self, x_nD: Tensor) -> Tensor:
        """y (n×E)."""
        y_nE = x_nD @ self.W_ED.T
        y_nE[:, : self.F] += self.bias
        return y_nE

    def apply(self, y: Tensor, r: Tensor, out: Tensor | None = None) -> Tensor:
        """h (…×F) from y (…×E) and r (…×F)."""
        gate, *shift = y.split(self.F, -1)
        return torch.addcmul(shift[0], gate, r, out=out) if shift else torch.mul(gate, r, out=out)

    def adjoint(self, dh_TF: Tensor, r_TF: Tensor) -> Tensor:
        """From a gradient in h to the gradient in y (T×E)."""
        dgate_TF = dh_TF * r_TF
        return dgate_TF if len(self.stretch_Q) == 1 else torch.cat([dgate_TF, dh_TF], 1)

    def gather(self, share_G1R: Tensor, dh_GRF: Tensor, r_GRF: Tensor) -> Tensor:
        """Gradients in h to the sum over positions of share · gradient in y (G×1×E). Overwrites `dh_GRF`."""
        dshift_G1F = None if len(self.stretch_Q) == 1 else torch.bmm(share_G1R, dh_GRF)
        dgate_G1F = torch.bmm(share_G1R, dh_GRF.mul_(r_GRF))
        return dgate_G1F if dshift_G1F is None else torch.cat([dgate_G1F, dshift_G1F], 2)

    def norms(self, y: Tensor) -> Tensor:
        """The length of each path's part of y, or of a gradient in y (…×Q)."""
        return y.unflatten(-1, (-1, self.F)).norm(dim=-1)
