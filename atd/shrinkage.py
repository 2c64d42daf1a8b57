"""How far a rare attribute is held near the average text: a Gaussian prior whose strength is learned from all of them.

The effect of attribute a is e_a, E numbers; its prior is N(0, 1/λ) on each. λ is found as MacKay (1992) does it:
λ = Σ_a γ_a E / Σ_a ‖e_a‖². Here γ_a = n_a h / (n_a h + λ) is the share of e_a that its text determines: n_a words, and
each tells h.

So if attributes differ much, λ is small and even a rare one may. If their effects are no larger than chance makes them,
λ grows and holds all of them at zero. Every column of composed attributes has its own λ.

A attributes, M columns.
"""

from __future__ import annotations

import torch
from torch import Tensor

TOLD = 0.05  # h, the curvature of −log P(word) in one factor: the unit-length start of the words gives about this
LARGEST = 1000.0  # λ at most
ROUNDS = 4


@torch.no_grad()
def precision(effect_A: Tensor, E: int, count_A: Tensor, column_A: Tensor) -> Tensor:
    """λ of the column of every attribute (A), from ‖e_a‖² and the words of text each has."""
    M = int(column_A.max()) + 1
    zero_M = effect_A.new_zeros(M)
    told_A = TOLD * count_A
    effect_M = zero_M.index_add(0, column_A, effect_A)
    lambda_M = torch.full_like(zero_M, 100.0)
    for _ in range(ROUNDS):
        determined_A = told_A / (told_A + lambda_M[column_A])
        numbers_M = E * zero_M.index_add(0, column_A, determined_A)
        lambda_M = numbers_M / (effect_M + numbers_M / LARGEST).clamp(min=torch.finfo(effect_A.dtype).tiny)
    return lambda_M[column_A]
