"""What inference minimises: J(x) = Σ_t −log P(w_t | context_t, x) + (l2/2)·‖x − prior‖², for many texts at once.

The weights being frozen, position t is W_fk r̂ of its context, r (F numbers that do not depend on x). The gate of its
text multiplies them and the shift, where the model has one, is added: together y, E numbers (`effect`). The softmax
kernel of training does the rest. Three things keep the products large and the work small:

- Texts are cut into pieces of R positions, the last filled up with positions that count for nothing. All positions of a
  piece have the same y, so that the gradient in y is one product per piece and path.
- The target's logit is own·y + bias, where own is r ∘ its row for the gate and its row for the shift, written out
  beforehand.
- The logits of only a few pieces exist at once, in one buffer.

n texts, T positions of all of them in G pieces of R, D attribute dim, F factors, E effects by Q paths, V vocabulary,
S words of the softmax, P columns of their table (`atd.candidates`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from atd.candidates import LOG2, Candidates
from atd.inference.effect import Effect
from atd.inference.point import Point
from atd.inference.preconditioner import Preconditioner
from atd.inference.words import SoftmaxWords
from atd.ragged import spans
from atd.softmax_kernel import LOGITS, sum_powers

PIECE = 64  # R at most


@dataclass(kw_only=True)
class Problem:
    """J and its gradient for a batch of texts.

    A target's logit is at most |bias| + ‖own‖·‖y‖, path by path. Rounding errors are in proportion to this, so each
    text has `size_n`, the sum of 1 + |bias| over its positions, and `reach_nQ`, the sum of ‖own‖ of each path.
    """

    words: SoftmaxWords
    candidates: Candidates  # those of `words`, or words of each piece's own (`surrogate`)
    slot_GR: Tensor  # of the target among the candidates, or −1
    target_GR: Tensor
    r_GRF: Tensor
    own_GRE: Tensor  # the gradient of the target's logit in y
    bias_GR: Tensor  # the target's
    real_GR: Tensor  # 1, or 0 where the piece is filled up
    pieces_n: Tensor  # how many pieces each text has
    count_n: Tensor  # how many positions
    prior_nD: Tensor
    size_n: Tensor
    reach_nQ: Tensor
    tilt_nD: Tensor  # J has tilt·x in addition: 0, or what corrects the gradient of a surrogate
    effect: Effect
    l2: float
    positive: bool  # whether x ≥ 0
    preconditioner: Preconditioner
    tau: float = 1.0  # the temperature by which `own_GRE` and `bias_GR` have been divided (`newton`)

    OF_PIECES: ClassVar = ("slot_GR", "target_GR", "r_GRF", "own_GRE", "bias_GR", "real_GR")
    OF_TEXTS: ClassVar = ("pieces_n", "count_n", "prior_nD", "size_n", "reach_nQ", "tilt_nD")

    @classmethod
    def of(
        cls,
        words: SoftmaxWords,
        r_TF: Tensor,
        target_T: Tensor,
        count_n: Tensor,
        prior_nD: Tensor,
        *,
        effect: Effect,
        l2: float,
        positive: bool,
        preconditioner: Preconditioner,
    ) -> Problem:
        """From the positions of all texts, one text after the other."""
        longest = max(1, int(count_n.max()))
        R = -(-longest // -(-longest // PIECE))
        pieces_n = -(-count_n // R)
        G = int(pieces_n.sum())
        text_T = torch.repeat_interleave(torch.arange(len(count_n), device=r_TF.device), count_n)
        within_T = torch.arange(len(target_T), device=r_TF.device) - _before(count_n)[text_T]
        place_T = _before(pieces_n)[text_T] * R + within_T

        def cut(items_T: Tensor) -> Tensor:
            """The same in pieces (G×R)."""
            out = items_T.new_zeros(G * R, *items_T.shape[1:])
            return out.index_copy_(0, place_T, items_T).unflatten(0, (G, R))

        bias_T = words.b_V[target_T]
        own_TE = effect.adjoint(words.W_VF.index_select(0, target_T), r_TF)
        size_n = bias_T.new_zeros(len(count_n))
        reach_nQ = bias_T.new_zeros(len(count_n), len(effect.stretch_Q))
        return cls(
            words=words,
            candidates=words.candidates,
            slot_GR=cut(words.slot_V[target_T]),
            target_GR=cut(target_T),
            r_GRF=cut(r_TF),
            own_GRE=cut(own_TE),
            bias_GR=cut(bias_T),
            real_GR=cut(torch.ones_like(bias_T)),
            pieces_n=pieces_n,
            count_n=count_n,
            prior_nD=prior_nD,
            size_n=size_n.index_add_(0, text_T, 1 + bias_T.abs()),
            reach_nQ=reach_nQ.index_add_(0, text_T, effect.norms(own_TE)),
            tilt_nD=torch.zeros_like(prior_nD),
            effect=effect,
            l2=l2,
            positive=positive,
            preconditioner=preconditioner,
        )

    def __post_init__(self):
        texts = torch.arange(len(self.pieces_n), device=self.pieces_n.device)
        self.text_G = torch.repeat_interleave(texts, self.pieces_n)

    @property
    def first_n(self) -> Tensor:
        """The first piece of every text."""
        return _before(self.pieces_n)

    def pieces(self, rows: Tensor) -> Tensor:
        """The pieces of some texts."""
        return spans(self.first_n[rows], self.pieces_n[rows])

    def select(self, rows: Tensor) -> Problem:
        """The same for some of the texts."""
        if len(rows) == len(self.count_n):
            return self
        at = self.pieces(rows)
        some = {name: getattr(self, name).index_select(0, at) for name in self.OF_PIECES}
        some |= {name: getattr(self, name)[rows] for name in self.OF_TEXTS}
        return replace(self, candidates=self.candidates.select(at), **some)

    def double(self) -> Problem:
        """The same in double precision."""
        names = (*self.OF_PIECES, *self.OF_TEXTS)
        wide = {name: item.double() for name in names if (item := getattr(self, name)).is_floating_point()}
        words = self.words.double
        return replace(self, words=words, candidates=words.candidates, effect=self.effect.double(), **wide)

    def softened(self, tau: float) -> Problem:
        """The same with all logits, and l2, divided by a temperature."""
        names = ("own_GRE", "bias_GR", "size_n", "reach_nQ", "l2")
        return replace(self, tau=tau, **{name: getattr(self, name) / tau for name in names})

    def evaluate(self, x_nD: Tensor, likely_GV: Tensor | None = None) -> Point:
        """The negative log-likelihood, J (both double) and ∇J at x; into `likely_GV` the sum of P over each piece."""
        y_GE = self.effect(x_nD)[self.text_G]
        nll_GR = torch.empty_like(self.real_GR)
        slope_GE = torch.empty_like(y_GE)
        chunks = self._chunks()
        longest = chunks[0].stop if chunks else 0
        size = self.real_GR.shape[1] * self.candidates.S
        buffer = x_nD.new_empty(longest * size)  # one for all: new pages are slow
        for at in chunks:
            likely = None if likely_GV is None else likely_GV[at]
            nll_GR[at], slope_GE[at] = self._chunk(at, y_GE[at], buffer[: (at.stop - at.start) * size], likely)
        nll_n = x_nD.new_zeros(len(x_nD), dtype=torch.double)
        nll_n.index_add_(0, self.text_G, (nll_GR * self.real_GR).sum(1).double())
        slope_nE = x_nD.new_zeros(len(x_nD), slope_GE.shape[1]).index_add_(0, self.text_G, slope_GE)
        away_nD = x_nD - self.prior_nD
        J_n = nll_n + (0.5 * self.l2 * away_nD.double().square() + (self.tilt_nD * x_nD).double()).sum(1)
        g_nD = slope_nE @ self.effect.W_ED + self.l2 * away_nD + self.tilt_nD
        return Point(x_nD, nll_n, J_n, g_nD)

    def _chunks(self) -> list[slice]:
        """Pieces whose logits exist at once."""
        G, R = self.real_GR.shape
        pieces = max(1, LOGITS // (R * self.candidates.S))
        return [slice(i, min(i + pieces, G)) for i in range(0, G, pieces)]

    def _chunk(self, at: slice, y_GE: Tensor, buffer: Tensor, likely_GV: Tensor | None) -> tuple[Tensor, Tensor]:
        """−log P (G×R) and its gradient in y (G×E) of some pieces."""
        words = self.candidates.part(at)
        r_GRF = self.r_GRF[at]
        own_GRE = self.own_GRE[at]
        G, R = self.real_GR[at].shape
        goal_GR = torch.bmm(own_GRE, y_GE[..., None])[..., 0] + self.bias_GR[at]
        h_GRP = words.positions(goal_GR)
        self.effect.apply(y_GE[:, None], r_GRF, out=h_GRP[..., words.columns.vector])
        if self.tau != 1:
            h_GRP[..., : words.columns.bias.stop] /= self.tau
        groups = (1, -1) if words.shared else (G, R)  # where all pieces share their words they are one large group
        powers_GSR = buffer.view(groups[0], words.S, groups[1])
        found = sum_powers(
            h_GRP.view(*groups, words.columns.P), words, self.slot_GR[at].view(groups), goal_GR.view(groups), powers_GSR
        )
        share_G1R = (self.real_GR[at].view(groups) / found.Z_GR).view(G, 1, R)
        sums_GRF = found.sums_GRP.reshape(G, R, -1)[..., words.columns.vector]
        slope_G1E = self.effect.gather(share_G1R * (LOG2 / self.tau), sums_GRF, r_GRF)
        slope_G1E -= torch.bmm(share_G1R * found.others_GR.view(G, 1, R), own_GRE)
        if likely_GV is not None:
            powers_GSR = powers_GSR.view(words.S, G, R).transpose(0, 1) if words.shared else powers_GSR
            torch.bmm(powers_GSR, share_G1R.mT, out=likely_GV[..., None])
        return found.log_Z().view(G, R), slope_G1E[:, 0]

    def steepness(self) -> Tensor:
        """By how much a step of length 1 changes the logit of a position, at most and on average (n)."""
        return (self.reach_nQ * self.effect.stretch_Q).sum(1) / self.count_n.clamp(min=1)

    def noise(self) -> Tensor:
        """How far ‖∇J‖ can be trusted (n): rounding of the terms that cancel in it."""
        return _rounding((self.reach_nQ * self.effect.stretch_Q).sum(1))

    def blur(self, x_nD: Tensor) -> Tensor:
        """How far J can be trusted (n): rounding of the logits it is made of."""
        length_nQ = self.effect.norms(self.effect(x_nD))
        return _rounding(self.size_n + (self.reach_nQ * length_nQ).sum(1)).double()

    def project(self, x_nD: Tensor) -> Tensor:
        """The nearest x that is allowed."""
        return x_nD.clamp(min=0) if self.positive else x_nD

    def pull(self, point: Point) -> Tensor:
        """The part of −∇J that x can follow (n×D): under x ≥ 0 nothing pulls a coordinate below 0."""
        return self.project(point.x_nD - point.g_nD) - point.x_nD

    def precondition(self, g_nD: Tensor) -> Tensor:
        """g by the inverse of the Hessian that a text of as many words has typically."""
        return self.preconditioner.apply(g_nD, self.l2, self.count_n)


def _before(count_n: Tensor) -> Tensor:
    """The sum of all counts before each."""
    return count_n.cumsum(0) - count_n


def _rounding(size_n: Tensor) -> Tensor:
    """What rounding may have done to a sum of so large numbers."""
    return 4 * torch.finfo(size_n.dtype).eps * size_n
