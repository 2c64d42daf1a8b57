"""The unfactored tensor of section 2.2: a reference for small vocabularies.

B batch, N context size, K word dim, D attribute dim, V vocabulary, A attributes.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from atd.attributes import AttributeTable, Blend
from atd.lm import ConditionedModel, predict, start_contexts


class TensorLM(ConditionedModel):
    """Logits = T_x r̂ + b, T_x = Σᵢ xᵢ T⁽ⁱ⁾.

    The fold E is not a function of T, so context words have their own R (V×K).
    """

    def __init__(self, V: int, K: int, D: int, N: int, A: int, activation: str = "relu"):
        super().__init__()
        self.T = nn.Parameter(torch.empty(V, K, D))
        self.R = nn.Parameter(torch.empty(V, K))
        self.C = nn.Parameter(torch.empty(N, K, K))
        self.b = nn.Parameter(torch.zeros(V))
        self.attributes = AttributeTable(A, D, activation)
        nn.init.normal_(self.T, std=(K * D) ** -0.5)
        nn.init.normal_(self.R, std=K**-0.5)
        start_contexts(self.C)

    def hidden(self, context_BN: Tensor, attribute: Tensor | Blend | None = None, language: int = 0) -> Tensor:
        """r̂ ⊗ x flattened (B×KD), so that the output layer is T flattened likewise."""
        if attribute is None:
            raise ValueError("the unfactored tensor has no unconditioned form: give an attribute")
        r_BK = predict(functional.embedding(context_BN, self.R), self.C)
        return (r_BK[:, :, None] * self.attributes(attribute)[:, None, :]).flatten(1)

    def output(self, language: int = 0) -> tuple[Tensor, Tensor]:
        return self.T.flatten(1), self.b

    def embeddings(self, x_D: Tensor | None = None) -> Tensor:
        return self.R if x_D is None else self.T @ x_D
