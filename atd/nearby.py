"""J near one x at a fraction of its cost: a softmax over words that are likely there, with J's own gradient at that x.

The n texts are cut into G pieces of at most R positions. Each has S words of its own, chosen by how likely the model
finds them in that piece; what they lack in the gradient at x is known, and added. So a minimum of the stand-in is as
good a step towards that of J as the words represent J's curvature, and J itself is evaluated once per step.

F factors, V vocabulary, P columns of `softmax.Candidates`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from atd.objective import Objective, Problem, runs
from atd.softmax import Candidates, columns, softmax_pass

WORDS = 512  # S
PIECE = 64  # R at most
COMMON = 0.1  # share of the choice that goes by the words' biases alone: what is unlikely at x may not be further on
NEVER = -1e4  # log weight of an empty place


@dataclass
class Pieces:
    """Which piece each position belongs to (T), its place in it (T), and how many pieces every text has (n)."""

    piece_T: Tensor
    place_T: Tensor
    count_n: Tensor
    longest: int

    @classmethod
    def of(cls, problem: Problem) -> Pieces:
        R = max(1, min(PIECE, int(problem.count_n.max())))
        count_n = -(-problem.count_n // R)
        within_T = torch.arange(len(problem.text_T), device=count_n.device)
        within_T = within_T - (problem.end_n - problem.count_n)[problem.text_T]
        first_n = count_n.cumsum(0) - count_n
        return cls(first_n[problem.text_T] + within_T // R, within_T % R, count_n, R)

    def select(self, rows: Tensor) -> Tensor:
        """The pieces of some texts."""
        return runs(self.count_n.cumsum(0) - self.count_n, self.count_n, rows)

    def lay_out(self, items_T: Tensor) -> Tensor:
        """G×R places, those without a position 0."""
        out = items_T.new_zeros(int(self.count_n.sum()), self.longest, *items_T.shape[1:])
        out[self.piece_T, self.place_T] = items_T
        return out


def evaluate(problem: Problem, x_nD: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Negative log-likelihood, J, ∇J, and the sum of P over the positions of each piece (G×V)."""
    pieces = Pieces.of(problem)
    likely_GV = x_nD.new_zeros(int(pieces.count_n.sum()), len(problem.words.b_V))
    return *problem.value_and_gradient(x_nD, (pieces.piece_T, likely_GV)), likely_GV


@dataclass(kw_only=True)
class Nearby(Objective):
    DROP: ClassVar[float] = 0.5
    OF_PIECES: ClassVar = ("r_GRF", "row_GRF", "bias_GR", "column_GR", "real_GR")
    OF_TEXTS: ClassVar = ("pieces_n", "tilt_nD", "blur_n", "count_n", "prior_nD")

    words: Candidates
    r_GRF: Tensor
    row_GRF: Tensor
    bias_GR: Tensor
    column_GR: Tensor
    real_GR: Tensor  # 1, or 0 where the piece has ended
    pieces_n: Tensor
    tilt_nD: Tensor
    blur_n: Tensor

    @classmethod
    def at(cls, problem: Problem, x_nD: Tensor, gradient_nD: Tensor, likely_GV: Tensor) -> Nearby:
        """What `evaluate` found at x, in short. `likely_GV` is overwritten."""
        pieces, b_V, own = Pieces.of(problem), problem.words.b_V, problem.own
        size_G = torch.zeros_like(likely_GV[:, 0]).index_add_(0, pieces.piece_T, torch.ones_like(own.bias_T))
        likely_GV.addr_(COMMON * size_G, b_V.softmax(0))
        ids_GS, log_weight_GS = choose(likely_GV, WORDS)
        near = cls(
            words=problem.words.candidates.choose(ids_GS, b_V[ids_GS] + log_weight_GS),
            r_GRF=pieces.lay_out(problem.r_TF), row_GRF=pieces.lay_out(own.row_TF), bias_GR=pieces.lay_out(own.bias_T),
            column_GR=columns(ids_GS, pieces.lay_out(problem.target_T)),
            real_GR=pieces.lay_out(torch.ones_like(own.bias_T)), pieces_n=pieces.count_n,
            tilt_nD=torch.zeros_like(x_nD), blur_n=problem.blur(x_nD),
            count_n=problem.count_n, prior_nD=problem.prior_nD, W_fd=problem.W_fd, gate_bias=problem.gate_bias,
            l2=problem.l2, positive=problem.positive, curvature=problem.curvature,
        )
        near.tilt_nD = gradient_nD - near.value_and_gradient(x_nD)[2]
        return near

    def __post_init__(self):
        n = len(self.pieces_n)
        self.text_G = torch.repeat_interleave(torch.arange(n, device=self.pieces_n.device), self.pieces_n)

    def blur(self, x_nD: Tensor) -> Tensor:
        return self.blur_n

    def select(self, rows: Tensor) -> Nearby:
        if len(rows) == len(self.count_n):
            return self
        at = runs(self.pieces_n.cumsum(0) - self.pieces_n, self.pieces_n, rows)
        of_pieces = {name: getattr(self, name).index_select(0, at) for name in self.OF_PIECES}
        of_texts = {name: getattr(self, name)[rows] for name in self.OF_TEXTS}
        return replace(self, words=self.words.select(at), **of_pieces, **of_texts)

    def value_and_gradient(self, x_nD: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        gate_nF = self.gate(x_nD)
        f_GRF = self.r_GRF * gate_nF[self.text_G, None]
        nll, slope, _ = softmax_pass(
            f_GRF.flatten(0, 1), self.words, self.row_GRF.flatten(0, 1), self.bias_GR.flatten(),
            self.column_GR.flatten(), self.real_GR.flatten(),
        )
        nll_G = (nll.view_as(self.real_GR) * self.real_GR).sum(1)
        slope_GF = (slope.view_as(self.r_GRF) * self.r_GRF).sum(1)
        nll_n = x_nD.new_zeros(len(x_nD), dtype=torch.double).index_add_(0, self.text_G, nll_G.double())
        slope_nF = torch.zeros_like(gate_nF).index_add_(0, self.text_G, slope_GF)
        J_n, g_nD = self.regularised(x_nD, nll_n, slope_nF)
        return nll_n, J_n + (self.tilt_nD * x_nD).sum(1).double(), g_nD + self.tilt_nD


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
