"""The multiplicative model with a gate that starts open: what `model=atd` trains.

B batch, N context size, K word dim, D attribute dim, F factors, V vocabulary, A attributes.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from atd.attributes import CentredTable
from atd.lm import MultiplicativeLM
from atd.shrinkage import precision


class OpenLM(MultiplicativeLM):
    """r̂ = c + Σ C⁽ⁱ⁾ E[:,wᵢ], f = (W_fk r̂) ∘ (1 + W_fd x) + W_fa x, logits = W_fvᵀ f + b.

    x = 0 is the average text, and there the model is the unconditioned one: attributes leave it only as far as the
    evidence goes. Against the paper's model:

    - W_fk is orthogonal and fixed. Then every factor counts alike at the start, and W_fv alone learns the words.
    - The gate is 1 + W_fd x, and x has no rectifier.
    - x is centred over the training text (`CentredTable`). Otherwise what all texts share flows into x, scales every
      factor, and lets the words overfit, whether the attributes mean anything or not.
    - c holds what all contexts share, for the same reason.
    - An attribute with little text is held near the average one, by a prior that is learned (`shrink`).
    - W_fa x shifts the factors whatever the context: how often a word is used, beside where.
    - `free` more factors are moved by attributes alone: their rows of W_fk are zero, so that no context reaches them.
      By the others an attribute makes words more frequent only along with words of like meaning; by these, any word.

    `gated=False` leaves out the gate, `additive=False` the shift; without both there are no attributes. A `sparse`
    table is not centred: that would touch all its rows in every step.
    """

    def __init__(
        self,
        V: int,
        K: int,
        D: int,
        F: int,
        N: int,
        A: int,
        gated: bool = True,
        additive: bool = True,
        shrink: bool = True,
        dropout: float = 0.0,
        sparse: bool = False,
        free: int = 0,
    ):
        self.free = free
        super().__init__(V, K, D, F + free, N, A, "identity", 1.0, dropout, additive, sparse)
        self.gated = gated
        self.shrink = shrink
        self.c = nn.Parameter(torch.zeros(K))
        if sparse:
            nn.init.normal_(self.attributes.L, std=0.1)
        else:
            self.attributes = CentredTable(A, D)
        if self.W_fa is not None:
            nn.init.orthogonal_(self.W_fa[len(self.W_fa) - free :])
        self.W_fd.requires_grad_(gated)
        self.attributes.L.requires_grad_(gated or additive)

    def reset(self) -> None:
        K = self.W_fk.shape[1]
        F = len(self.W_fk) - self.free
        nn.init.zeros_(self.W_fk)
        nn.init.orthogonal_(self.W_fk[:F])
        self.W_fk.requires_grad_(False)
        nn.init.zeros_(self.W_fv)
        nn.init.normal_(self.W_fv[:, :F], std=K**-0.5)
        nn.init.normal_(self.W_fd, std=0.1)

    def shrinkage(self) -> Tensor | float:
        """Σ_a (λ/2) ‖effect of a‖² per word of training text; the effect of a is W_fd x_a and W_fa x_a."""
        table = self.attributes
        if not self.shrink or not isinstance(table, CentredTable) or not table.L.requires_grad:
            return 0.0
        x_AD = table.vectors()
        paths = [W for W, used in ((self.W_fd, self.gated), (self.W_fa, True)) if used and W is not None]
        effect_A = torch.stack([(x_AD @ (W.T @ W) * x_AD).sum(1) for W in paths]).sum(0)
        lambda_A = precision(effect_A, len(paths) * len(self.W_fk), table.count, table.column)
        return 0.5 * (lambda_A * effect_A).sum() / table.words.clamp(min=1)

    @torch.no_grad()
    def start_at(self, vectors_VK: Tensor) -> None:
        """Start at pretrained word vectors: `W_fv W_fk` equals them up to scale, or is the nearest of rank F.

        They are brought to the size of a random start: the steps that suit the one then suit the other.
        """
        V, K = len(self.W_fv), self.W_fk.shape[1]
        F = len(self.W_fk) - self.free
        if vectors_VK.shape != (V, K):
            raise ValueError(f"the tensor needs vectors {V}×{K}, got {tuple(vectors_VK.shape)}")
        vectors_VK = vectors_VK.to(self.W_fv)
        vectors_VK = vectors_VK * (K * vectors_VK.square().mean()).clamp(min=torch.finfo(vectors_VK.dtype).tiny).rsqrt()
        if F < K:
            self.W_fk[:F] = torch.linalg.svd(vectors_VK, full_matrices=False).Vh[:F]
        self.W_fv.copy_(vectors_VK @ self.W_fk.T)
