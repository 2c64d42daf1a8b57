"""What inference minimises: J(x) = Σ_t −log P(w_t | context_t, x) + (l2/2)·‖x − prior‖², for many texts at once.

n texts, T positions of all of them in G pieces of R, D attribute dim, F factors, V vocabulary, S words of the softmax,
P columns of their table (`softmax.Candidates`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from atd.errors import AtdError
from atd.noise import Shares
from atd.ragged import spans
from atd.softmax import LOG2, LOGITS, Candidates, predict, softmax_pass, write_exactly

PIECE = 64  # R at most
POWER = 0.75  # of a word's share in the choice of a subset, as for the noise words of training
TYPICAL = 4096  # most frequent words, from which the typical curvature of J is computed


class SoftmaxWords:
    """The words the softmax runs over: all, or a fixed subset that stands for all.

    The subset is the same for every text and seed: the words of largest bias (frequency, in a trained model) exactly,
    and of the others some at equal distances in exp(0.75·bias), each counted for those around it. The target is always
    added, and what it stands for among the others is left out.
    """

    def __init__(self, W_VF: Tensor, b_V: Tensor, samples: int | None = None):
        self.W_VF, self.b_V, V = W_VF, b_V, len(b_V)
        self._subsets: dict[int, SoftmaxWords] = {}
        self.column_V = torch.arange(V, device=b_V.device)
        if samples is None or samples >= V:
            self.candidates = Candidates(W_VF, b_V)
            return
        if samples < 2:
            raise AtdError(f"inference.samples must be at least 2, got {samples}")
        ids, log_weight = Shares((POWER * b_V.double()).softmax(0)).choose(samples, 0.5)
        self.candidates = Candidates(W_VF[ids], b_V[ids] + log_weight.to(b_V.dtype))
        self.column_V.fill_(-1)
        self.column_V[ids] = torch.arange(len(ids), device=b_V.device)

    def subset(self, samples: int) -> SoftmaxWords:
        if samples not in self._subsets:
            self._subsets[samples] = SoftmaxWords(self.W_VF, self.b_V, samples)
        return self._subsets[samples]


@dataclass(kw_only=True)
class Problem:
    """J and its gradient for a batch of texts, which are cut into G pieces of at most R positions.

    What the target contributes is known beforehand: |its logit| is at most |bias| + ‖r ∘ row‖·‖gate‖, and per text
    `size_n` sums 1 + |bias|, `reach_n` the norms.
    """

    words: SoftmaxWords
    candidates: Candidates  # `words`, or words of each piece's own (`nearby`)
    column_GR: Tensor  # of the target among the candidates, or −1
    target_GR: Tensor
    r_GRF: Tensor
    own_GRF: Tensor  # r ∘ the target's row
    bias_GR: Tensor
    real_GR: Tensor  # 1, or 0 where the piece has ended
    pieces_n: Tensor
    count_n: Tensor
    prior_nD: Tensor
    size_n: Tensor
    reach_n: Tensor
    tilt_nD: Tensor  # added to ∇J
    W_fd: Tensor
    stretch: float  # ‖W_fd‖
    gate_bias: float
    l2: float
    positive: bool
    curvature: tuple[Tensor, Tensor] | None  # eigenvalues (D) and eigenvectors (D×D) of `typical_curvature`

    OF_PIECES: ClassVar = ("column_GR", "target_GR", "r_GRF", "own_GRF", "bias_GR", "real_GR")
    OF_TEXTS: ClassVar = ("pieces_n", "count_n", "prior_nD", "size_n", "reach_n", "tilt_nD")

    @classmethod
    def of(
        cls, words: SoftmaxWords, r_TF: Tensor, target_T: Tensor, count_n: Tensor, prior_nD: Tensor, *,
        W_fd: Tensor, stretch: float, gate_bias: float, l2: float, positive: bool,
        curvature: tuple[Tensor, Tensor] | None = None,
    ) -> Problem:  # fmt: skip
        """From the positions of all texts, one text after the other."""
        longest = max(1, int(count_n.max()))
        R = -(-longest // -(-longest // PIECE))
        pieces_n = -(-count_n // R)
        G, first_n = int(pieces_n.sum()), pieces_n.cumsum(0) - pieces_n
        text_T = torch.repeat_interleave(torch.arange(len(count_n), device=r_TF.device), count_n)
        within_T = torch.arange(len(target_T), device=r_TF.device) - (count_n.cumsum(0) - count_n)[text_T]
        place_T = (first_n[text_T] + within_T // R) * R + within_T % R

        def lay_out(items_T: Tensor) -> Tensor:
            out = items_T.new_zeros(G * R, *items_T.shape[1:])
            return out.index_copy_(0, place_T, items_T).unflatten(0, (G, R))

        bias_T, own_TF = words.b_V[target_T], words.W_VF.index_select(0, target_T) * r_TF
        sums = torch.zeros(2, len(count_n), dtype=bias_T.dtype, device=bias_T.device)
        sums.index_add_(1, text_T, torch.stack([1 + bias_T.abs(), own_TF.norm(dim=1)]))
        return cls(
            words=words, candidates=words.candidates, column_GR=lay_out(words.column_V[target_T]),
            target_GR=lay_out(target_T), r_GRF=lay_out(r_TF), own_GRF=lay_out(own_TF), bias_GR=lay_out(bias_T),
            real_GR=lay_out(torch.ones_like(bias_T)), pieces_n=pieces_n, count_n=count_n, prior_nD=prior_nD,
            size_n=sums[0], reach_n=sums[1], tilt_nD=torch.zeros_like(prior_nD), W_fd=W_fd, stretch=stretch,
            gate_bias=gate_bias, l2=l2, positive=positive, curvature=curvature,
        )  # fmt: skip

    def __post_init__(self):
        self.text_G = torch.repeat_interleave(
            torch.arange(len(self.pieces_n), device=self.pieces_n.device), self.pieces_n
        )

    @property
    def first_n(self) -> Tensor:
        """The first piece of every text."""
        return self.pieces_n.cumsum(0) - self.pieces_n

    def noise(self) -> Tensor:
        """How far ‖∇J‖ can be trusted (n): rounding of the terms that cancel in it."""
        return self._rounding(self.reach_n * self.stretch)

    def blur(self, x_nD: Tensor) -> Tensor:
        """How far J can be trusted (n): rounding of the logits it is made of."""
        return self._rounding(self.size_n + self.reach_n * self.gate(x_nD).norm(dim=1)).double()

    def _rounding(self, size_n: Tensor) -> Tensor:
        return 4 * torch.finfo(size_n.dtype).eps * size_n

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

    def gate(self, x_nD: Tensor) -> Tensor:
        return x_nD @ self.W_fd.T + self.gate_bias

    def value_and_gradient(self, x_nD: Tensor, likely_GV: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Negative log-likelihood (n), J (n, double), ∇J (n×D); into `likely_GV` the sum of P over each piece."""
        gate_GF = self.gate(x_nD)[self.text_G]
        log_GR, slope_GF = torch.empty_like(self.real_GR), torch.empty_like(gate_GF)
        chunks, (_, R), S = self._chunks(), self.real_GR.shape, self.candidates.W_GSP.shape[1]
        buffer = x_nD.new_empty(chunks[0].stop if chunks else 0, R, S)  # one for all: new pages are slow
        for at in chunks:
            likely = None if likely_GV is None else likely_GV[at]
            log_GR[at], slope_GF[at] = self._chunk(at, gate_GF[at], buffer[: at.stop - at.start], likely)
        nll_n = x_nD.new_zeros(len(x_nD), dtype=torch.double)
        nll_n.index_add_(0, self.text_G, (log_GR * self.real_GR).sum(1).double())
        slope_nF = x_nD.new_zeros(len(x_nD), slope_GF.shape[1]).index_add_(0, self.text_G, slope_GF)
        away_nD = x_nD - self.prior_nD
        J_n = nll_n + (0.5 * self.l2 * away_nD.double().square() + (self.tilt_nD * x_nD).double()).sum(1)
        return nll_n, J_n, slope_nF @ self.W_fd + self.l2 * away_nD + self.tilt_nD

    def _chunks(self) -> list[slice]:
        """Pieces whose logits exist at once."""
        (G, R), S = self.real_GR.shape, self.candidates.W_GSP.shape[1]
        pieces = max(1, LOGITS // (R * S))
        return [slice(i, min(i + pieces, G)) for i in range(0, G, pieces)]

    def _chunk(self, at: slice, gate_GF: Tensor, out_GRS: Tensor, likely_GV: Tensor | None) -> tuple[Tensor, Tensor]:
        """log Z (G×R) and the gradient in the gate (G×F)."""
        words, own_GRF, real_GR = self.candidates.part(at), self.own_GRF[at], self.real_GR[at]
        (_, S, P), (G, R, F) = words.W_GSP.shape, own_GRF.shape
        goal_GR = torch.bmm(own_GRF, gate_GF[..., None])[..., 0] + self.bias_GR[at]
        h_GRP = own_GRF.new_empty(G, R, P)
        torch.mul(self.r_GRF[at], gate_GF[:, None], out=h_GRP[..., :F])
        h_GRP[..., F : F + 2], h_GRP[..., F + 4 :] = 1, 0
        write_exactly(-goal_GR / LOG2, h_GRP, F + 2)
        groups = (1, -1) if words.shared else (G, R)
        mass, others, Z, rise = predict(
            h_GRP.view(*groups, P),
            words,
            self.column_GR[at].view(groups),
            goal_GR.view(groups),
            out_GRS.view(*groups, S),
        )
        log_GR = (Z.log() + rise * LOG2).view(G, R)
        share = (real_GR.view(groups) / Z).view(G, 1, R)
        slope_GF = torch.bmm(share * LOG2, mass.view(G, R, P)[..., :F].mul_(self.r_GRF[at]))
        slope_GF -= torch.bmm(share * others.view(G, 1, R), own_GRF)
        if likely_GV is not None:
            torch.bmm(share, out_GRS, out=likely_GV[:, None])
        return log_GR, slope_GF[:, 0]

    def scaled(self, g_nD: Tensor) -> Tensor:
        """g by the inverse of the Hessian that a text of as many words has typically."""
        if self.curvature is None:
            return g_nD / self.l2
        value_D, vector_DD = self.curvature
        return ((g_nD @ vector_DD) / (self.l2 + self.count_n[:, None] * value_D)) @ vector_DD.T

    def pull(self, x_nD: Tensor, gradient_nD: Tensor) -> Tensor:
        """The part of −∇J that x can follow: under x ≥ 0 nothing pulls a coordinate below 0."""
        return self.project(x_nD - gradient_nD) - x_nD

    def bound(self, x_nD: Tensor, gradient_nD: Tensor) -> Tensor:
        """Coordinates at 0, or about to be: a quasi-Newton step mixes them with the others and may climb."""
        if not self.positive:
            return torch.zeros_like(x_nD, dtype=torch.bool)
        near = self.pull(x_nD, gradient_nD).norm(dim=1, keepdim=True).clamp(max=1e-2)
        return (x_nD <= near) & (gradient_nD > 0)

    def project(self, x_nD: Tensor) -> Tensor:
        return x_nD.clamp(min=0) if self.positive else x_nD


def softmax_slope(words: SoftmaxWords, f_TF: Tensor, target_T: Tensor) -> tuple[Tensor, Tensor]:
    """−log P(target) (T) and its gradient in f (T×F): the mean word under P less the target's."""
    nll_T, slope_TF, _ = softmax_pass(
        f_TF,
        words.candidates,
        words.W_VF[target_T],
        words.b_V[target_T],
        words.column_V[target_T],
        f_TF.new_ones(len(f_TF)),
    )
    return nll_T, slope_TF


def typical_curvature(W_VF: Tensor, b_V: Tensor, folded_NFF: Tensor, W_fd: Tensor) -> Tensor:
    """What a word of text adds to the Hessian of J on average (D×D), words being independent of each other.

    Of a position it is W_fdᵀ (r rᵀ ∘ Cov w) W_fd, r the factors of its context and Cov w the covariance of the words
    under its prediction. Here both are those of words drawn by their biases. Only the speed of a solver depends on it.
    """
    frequent = b_V.topk(min(TYPICAL, len(b_V))).indices
    p_S1, W_SF = b_V[frequent].softmax(0)[:, None], W_VF[frequent]
    mean_F = (p_S1 * W_SF).sum(0)
    spread_FF = (W_SF * p_S1).T @ W_SF - torch.outer(mean_F, mean_F)
    r_F = (mean_F @ folded_NFF).sum(0)
    r_FF = (folded_NFF.transpose(1, 2) @ spread_FF @ folded_NFF).sum(0) + torch.outer(r_F, r_F)
    return W_fd.T @ (r_FF * spread_FF) @ W_fd
