"""A surrogate of J around one x: the same gradient there, at a fraction of the cost, because its softmax has few words.

Each piece of a text gets S words of its own by *importance sampling*: the likelier the model finds a word in the piece
at x, the surer it comes, and a word that comes with probability p counts 1/p times. The choice is systematic, not
random, so a text has one surrogate. What its gradient at x lacks of J's is known, and added as a linear term (`tilt`).
So the minimum of the surrogate is a step towards that of J, as good as the words represent J's curvature, and J itself
is evaluated once per step.

n texts in G pieces of R positions, D attribute dim, V vocabulary, S words of a piece.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from atd.candidates import locate
from atd.inference.objective import Problem
from atd.inference.point import Point

WORDS = 512  # S
COMMON = 0.1  # share of the choice that goes by the words' biases alone: what is unlikely at x may not be further on
NEVER = -1e4  # log weight of an empty place


def evaluate(problem: Problem, x_nD: Tensor) -> tuple[Point, Tensor]:
    """J and its gradient at x, and the sum of P over the positions of each piece (G×V)."""
    likely_GV = x_nD.new_empty(len(problem.text_G), len(problem.words.b_V))
    return problem.evaluate(x_nD, likely_GV), likely_GV


def around(problem: Problem, point: Point, likely_GV: Tensor) -> Problem:
    """The surrogate of the problem around a point, from what `evaluate` found there. `likely_GV` is overwritten."""
    b_V = problem.words.b_V
    likely_GV.addr_(COMMON * problem.real_GR.sum(1), b_V.softmax(0))
    ids_GS, log_weight_GS = choose(likely_GV, WORDS)
    untilted = replace(
        problem,
        candidates=problem.candidates.choose(ids_GS, b_V[ids_GS] + log_weight_GS),
        slot_GR=locate(ids_GS, problem.target_GR),
    )
    return replace(untilted, tilt_nD=point.g_nD - untilted.evaluate(point.x_nD).g_nD)


def choose(likely_GV: Tensor, S: int) -> tuple[Tensor, Tensor]:
    """(ids, log weight) of at most S words of each piece (G×S), ascending. `likely_GV` is overwritten.

    A word comes with probability min(1, c·likely) and stands for the inverse of that. c grows in a few rounds until
    these probabilities sum to nearly S. Places that no word takes have the weight of none.
    """
    chance_GV = likely_GV.mul_(S / likely_GV.sum(1, keepdim=True)).clamp_(max=1)
    for _ in range(3):
        chance_GV.mul_(S / chance_GV.sum(1, keepdim=True)).clamp_(max=1)
    G, V = chance_GV.shape
    tooth_S = torch.arange(S, device=likely_GV.device) + 0.5
    ids_GS = torch.searchsorted(chance_GV.cumsum(1), tooth_S.expand(G, S).contiguous())
    empty_GS = ids_GS == V
    ids_GS.clamp_(max=V - 1)
    log_weight_GS = -chance_GV.gather(1, ids_GS).log()
    return ids_GS, log_weight_GS.masked_fill(empty_GS, NEVER)
