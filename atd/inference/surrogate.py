"""J near one x at a fraction of its cost: a softmax over words that are likely there, with J's own gradient at that x.

Each piece of a text has S words of its own, chosen by how likely the model finds them in it; what they lack in the
gradient at x is known, and added. So the minimum of the stand-in is as good a step towards that of J as the words
represent J's curvature, and J itself is evaluated once per step.

n texts in G pieces of R positions, D attribute dim, V vocabulary.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from atd.inference.objective import Problem
from atd.softmax import columns

WORDS = 512  # S
COMMON = 0.1  # share of the choice that goes by the words' biases alone: what is unlikely at x may not be further on
NEVER = -1e4  # log weight of an empty place


def evaluate(problem: Problem, x_nD: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Negative log-likelihood, J, ∇J, and the sum of P over the positions of each piece (G×V)."""
    likely_GV = x_nD.new_empty(len(problem.text_G), len(problem.words.b_V))
    return *problem.value_and_gradient(x_nD, likely_GV), likely_GV


def stand_in(problem: Problem, x_nD: Tensor, gradient_nD: Tensor, likely_GV: Tensor) -> Problem:
    """The problem in short, from what `evaluate` found at x. `likely_GV` is overwritten."""
    b_V = problem.words.b_V
    likely_GV.addr_(COMMON * problem.real_GR.sum(1), b_V.softmax(0))
    ids_GS, log_weight_GS = choose(likely_GV, WORDS)
    candidates = problem.candidates.choose(ids_GS, b_V[ids_GS] + log_weight_GS)
    near = replace(problem, candidates=candidates, column_GR=columns(ids_GS, problem.target_GR))
    return replace(near, tilt_nD=gradient_nD - near.value_and_gradient(x_nD)[2])


def choose(likely_GV: Tensor, S: int) -> tuple[Tensor, Tensor]:
    """(ids, log weight) of at most S words of each piece (G×S), ascending: a word comes with probability
    min(1, c·likely) and stands for the inverse of that. `likely_GV` is overwritten."""
    chance_GV = likely_GV.mul_(S / likely_GV.sum(1, keepdim=True)).clamp_(max=1)
    for _ in range(3):  # c grows until the chances sum to nearly S
        chance_GV.mul_(S / chance_GV.sum(1, keepdim=True)).clamp_(max=1)
    point_S = torch.arange(S, device=likely_GV.device) + 0.5
    ids_GS = torch.searchsorted(chance_GV.cumsum(1), point_S.expand(len(chance_GV), S).contiguous())
    empty_GS = ids_GS == chance_GV.shape[1]
    ids_GS.clamp_(max=chance_GV.shape[1] - 1)
    return ids_GS, (-chance_GV.gather(1, ids_GS).log()).masked_fill(empty_GS, NEVER)
