"""The preconditioner of inference: the inverse Hessian of J that a text of so many words has typically.

J's Hessian is l2·I plus, for each position, Mᵀ (Cov w) M, where M = diag(r) W_fd + W_fa takes a change of x to the
change of h, r are the factors of the position's context, and Cov w is the covariance of the words' rows under its
prediction. The mean of this matrix over positions is estimated once for a model, words being taken as independent of
each other and as frequent as their biases say. For a text of n words the Hessian is then about l2·I + n·mean, which is
a diagonal in the mean's own axes. L-BFGS that starts from its inverse instead of a multiple of I needs fewer steps; the
optimum does not depend on it.

n texts, D attribute dim, F factors, V vocabulary, S words of it, N context size.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from atd.inference.effect import Effect

FREQUENT = 4096  # words from which the mean is estimated, at most: those of largest bias


@dataclass(frozen=True)
class Preconditioner:
    """The eigenvalues and eigenvectors of `typical_curvature`."""

    value_D: Tensor
    vector_DD: Tensor

    @classmethod
    def of(cls, curvature_DD: Tensor) -> Preconditioner:
        axes = torch.linalg.eigh(curvature_DD)
        return cls(axes.eigenvalues.clamp(min=0), axes.eigenvectors)

    def apply(self, g_nD: Tensor, l2: float, count_n: Tensor) -> Tensor:
        """(l2·I + count·curvature)⁻¹ g for each text."""
        hessian_nD = l2 + count_n[:, None] * self.value_D
        return ((g_nD @ self.vector_DD) / hessian_nD) @ self.vector_DD.T


def typical_curvature(
    W_VF: Tensor, b_V: Tensor, folded_NFF: Tensor, constant_F: Tensor | None, effect: Effect
) -> Tensor:
    """What a word of text adds to the Hessian of J on average (D×D).

    `folded_NFF` takes words to their part of r; `constant_F` is the part of r that does not depend on them.
    """
    frequent = b_V.topk(min(FREQUENT, len(b_V))).indices
    p_S1 = b_V[frequent].softmax(0)[:, None]
    W_SF = W_VF[frequent]
    mean_F = (p_S1 * W_SF).sum(0)
    covariance_FF = (W_SF * p_S1).T @ W_SF - torch.outer(mean_F, mean_F)
    r_F = (mean_F @ folded_NFF).sum(0)
    if constant_F is not None:
        r_F = r_F + constant_F
    rr_FF = (folded_NFF.transpose(1, 2) @ covariance_FF @ folded_NFF).sum(0) + torch.outer(r_F, r_F)
    W_fd, *additive = effect.W_ED.split(effect.F)
    curvature_DD = W_fd.T @ (rr_FF * covariance_FF) @ W_fd
    for W_fa in additive:
        mixed_DD = W_fd.T @ (r_F[:, None] * covariance_FF) @ W_fa
        curvature_DD += W_fa.T @ covariance_FF @ W_fa + mixed_DD + mixed_DD.T
    return curvature_DD
