"""The word embedding tensor T (V×K×D) of section 2.2, in three factors.

V vocabulary, K word dim, D attribute dim, F factors, B batch.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class FactoredTensor(nn.Module):
    """T_x = W_fvᵀ · diag(W_fd x + g) · W_fk (eq. 3). `W_fv` is stored V×F: a word's factors are one row.

    g (`gate_bias`) is 0 in the paper.
    """

    gate_bias: float

    def __init__(self, V: int, K: int, D: int, F: int, gate_bias: float = 0.0):
        super().__init__()
        self.W_fk = nn.Parameter(torch.empty(F, K))
        self.W_fd = nn.Parameter(torch.empty(F, D))
        self.W_fv = nn.Parameter(torch.empty(V, F))
        self.gate_bias = gate_bias
        self.reset()

    def reset(self) -> None:
        """Glorot-uniform, the start when no pretrained vectors are given."""
        for W in (self.W_fk, self.W_fd, self.W_fv):
            nn.init.xavier_uniform_(W)

    @torch.no_grad()
    def start_at(self, vectors_VK: Tensor) -> None:
        """Fold pretrained word vectors into the factors by a truncated SVD, so that `W_fv W_fk` ≈ them.

        The singular values are split evenly, and factors beyond the rank start at 0.01·N(0,1), as does W_fd.
        """
        K, F = self.W_fk.shape[1], self.W_fk.shape[0]
        if vectors_VK.shape != (self.W_fv.shape[0], K):
            raise ValueError(f"the tensor needs vectors {self.W_fv.shape[0]}×{K}, got {tuple(vectors_VK.shape)}")
        U, S, Vt = torch.linalg.svd(vectors_VK.to(self.W_fv), full_matrices=False)
        r = min(F, len(S))
        root = S[:r].sqrt()
        for W in (self.W_fk, self.W_fd, self.W_fv):
            nn.init.normal_(W, std=0.01)
        self.W_fv[:, :r] = U[:, :r] * root
        self.W_fk[:r] = root[:, None] * Vt[:r]

    def gate(self, x: Tensor) -> Tensor:
        """W_fd x + g: how strongly each factor is let through (…×F)."""
        return x @ self.W_fd.T + self.gate_bias

    def conditional(self, x_D: Tensor) -> Tensor:
        """T_x: the word vectors under attribute vector x (V×K)."""
        return (self.W_fv * self.gate(x_D)) @ self.W_fk

    def unconditional(self) -> Tensor:
        """W_fvᵀ W_fk: the word vectors when no attribute is known (V×K)."""
        return self.W_fv @ self.W_fk

    def folded(self) -> Tensor:
        """E = W_fkᵀ W_fv: the folded embeddings, one column per word (K×V)."""
        return self.unconditional().T

    def unfactored(self) -> Tensor:
        """The explicit T (V×K×D), for small vocabularies: T_x = Σᵢ xᵢ T⁽ⁱ⁾ when g = 0."""
        return torch.einsum("vf,fd,fk->vkd", self.W_fv, self.W_fd, self.W_fk)
