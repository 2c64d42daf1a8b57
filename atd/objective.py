"""What inference minimises: J(x) = Σ_t −log P(w_t | context_t, x) + (l2/2)·‖x − prior‖², for many texts at once.

n texts, T positions of all of them, D attribute dim, F factors, S words of the softmax.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from atd.errors import AtdError
from atd.softmax import Candidates, Shares, softmax_pass

POSITIONS = 4096  # whose factors are in cache together: bounds memory, not the result
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


@dataclass
class Targets:
    """What the targets contribute whatever x: rows and biases, columns among the candidates, and their sizes per text.

    |target's logit| is at most |bias| + ‖r ∘ row‖·‖gate‖; `size_n` sums 1 + |bias|, `reach_n` the norms.
    """

    row_TF: Tensor
    bias_T: Tensor
    column_T: Tensor
    size_n: Tensor
    reach_n: Tensor

    @classmethod
    def of(cls, problem: Problem) -> Targets:
        words, target = problem.words, problem.target_T
        row_TF, bias_T = words.W_VF.index_select(0, target), words.b_V[target]
        sums = torch.zeros(2, len(problem.count_n), dtype=bias_T.dtype, device=bias_T.device)
        sums.index_add_(1, problem.text_T, torch.stack([1 + bias_T.abs(), (problem.r_TF * row_TF).norm(dim=1)]))
        return cls(row_TF, bias_T, words.column_V[target], size_n=sums[0], reach_n=sums[1])

    def select(self, where: Tensor, rows: Tensor) -> Targets:
        positions = (self.row_TF, self.bias_T, self.column_T)
        row, bias, column = (t.index_select(0, where) for t in positions)
        return Targets(row, bias, column, self.size_n[rows], self.reach_n[rows])


@dataclass(kw_only=True)
class Objective:
    """A convex function of x for each of n texts: what J and its stand-ins have in common."""

    DROP: ClassVar[float] = 1.0  # texts that are done are left out when so large a share, or less, is not
    count_n: Tensor
    prior_nD: Tensor
    W_fd: Tensor
    gate_bias: float
    l2: float
    positive: bool
    curvature: tuple[Tensor, Tensor] | None = None  # eigenvalues (D) and eigenvectors (D×D) of `typical_curvature`

    def value_and_gradient(self, x_nD: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Negative log-likelihood (n), the function (n, double), its gradient (n×D)."""
        raise NotImplementedError

    def blur(self, x_nD: Tensor) -> Tensor:
        """How far the function can be trusted (n): rounding of what it is made of."""
        raise NotImplementedError

    def select(self, rows: Tensor) -> Objective:
        """The same for some of the texts."""
        raise NotImplementedError

    def gate(self, x_nD: Tensor) -> Tensor:
        return x_nD @ self.W_fd.T + self.gate_bias

    def regularised(self, x_nD: Tensor, nll_n: Tensor, slope_nF: Tensor) -> tuple[Tensor, Tensor]:
        """J and ∇J from the negative log-likelihood and its gradient in the gate."""
        away_nD = x_nD - self.prior_nD
        J_n = nll_n + 0.5 * self.l2 * away_nD.double().square().sum(1)
        return J_n, slope_nF @ self.W_fd + self.l2 * away_nD

    def scaled(self, g_nD: Tensor) -> Tensor:
        """g by the inverse of the Hessian that a text of as many words has typically."""
        if self.curvature is None:
            return g_nD / self.l2
        value_D, vector_DD = self.curvature
        return ((g_nD @ vector_DD) / (self.l2 + self.count_n[:, None] * value_D)) @ vector_DD.T

    def pull(self, x_nD: Tensor, gradient_nD: Tensor) -> Tensor:
        """The part of the descent that x can follow: under x ≥ 0 nothing pulls a coordinate below 0."""
        return self.project(x_nD - gradient_nD) - x_nD

    def bound(self, x_nD: Tensor, gradient_nD: Tensor) -> Tensor:
        """Coordinates at 0, or about to be: a quasi-Newton step mixes them with the others and may climb."""
        if not self.positive:
            return torch.zeros_like(x_nD, dtype=torch.bool)
        near = self.pull(x_nD, gradient_nD).norm(dim=1, keepdim=True).clamp(max=1e-2)
        return (x_nD <= near) & (gradient_nD > 0)

    def project(self, x_nD: Tensor) -> Tensor:
        return x_nD.clamp(min=0) if self.positive else x_nD


@dataclass(kw_only=True)
class Problem(Objective):
    """J and its gradient for a batch of texts, whose positions lie one text after the other."""

    words: SoftmaxWords
    r_TF: Tensor
    target_T: Tensor
    targets: Targets | None = None

    def __post_init__(self):
        self.end_n = self.count_n.cumsum(0)
        self.text_T = torch.repeat_interleave(torch.arange(len(self.count_n), device=self.r_TF.device), self.count_n)
        self.own = Targets.of(self) if self.targets is None else self.targets

    def noise(self) -> Tensor:
        """How far ‖∇J‖ can be trusted (n): rounding of the terms that cancel in it."""
        return self._rounding(self.own.reach_n * torch.linalg.matrix_norm(self.W_fd, 2))

    def blur(self, x_nD: Tensor) -> Tensor:
        return self._rounding(self.own.size_n + self.own.reach_n * self.gate(x_nD).norm(dim=1)).double()

    def _rounding(self, size_n: Tensor) -> Tensor:
        return 4 * torch.finfo(size_n.dtype).eps * size_n

    def select(self, rows: Tensor) -> Problem:
        if len(rows) == len(self.count_n):
            return self
        where, count = runs(self.end_n - self.count_n, self.count_n, rows), self.count_n[rows]
        return replace(
            self, r_TF=self.r_TF.index_select(0, where), target_T=self.target_T[where], count_n=count,
            prior_nD=self.prior_nD[rows], targets=self.own.select(where, rows),
        )

    def value_and_gradient(
        self, x_nD: Tensor, likely: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """With `likely`, (owner of every position, a sum of P for each), P is added there: what words are likely."""
        gate_nF = self.gate(x_nD)
        nll_n = torch.zeros(len(x_nD), dtype=torch.float64, device=x_nD.device)
        slope_nF = torch.zeros_like(gate_nF)
        for i in range(0, len(self.text_T), POSITIONS):
            at = slice(i, i + POSITIONS)
            text, r = self.text_T[at], self.r_TF[at]
            row, bias, column = self.own.row_TF[at], self.own.bias_T[at], self.own.column_T[at]
            f, ones = gate_nF.index_select(0, text).mul_(r), r.new_ones(len(r))
            sums = None if likely is None else (likely[0][at], likely[1])
            nll, slope, _ = softmax_pass(f, self.words.candidates, row, bias, column, ones, likely=sums)
            nll_n.index_add_(0, text, nll.double())
            slope_nF.index_add_(0, text, slope.mul_(r))
        return nll_n, *self.regularised(x_nD, nll_n, slope_nF)


def runs(first_n: Tensor, count_n: Tensor, rows: Tensor) -> Tensor:
    """Where the items of some texts are, text after text, those of text i being count_i from first_i on."""
    count = count_n[rows]
    shift = first_n[rows] - (count.cumsum(0) - count)
    return torch.arange(int(count.sum()), device=rows.device) + torch.repeat_interleave(shift, count)


def softmax_slope(words: SoftmaxWords, f_TF: Tensor, target_T: Tensor) -> tuple[Tensor, Tensor]:
    """−log P(target) (T) and its gradient in f (T×F): the mean word under P less the target's."""
    nll_T, slope_TF, _ = softmax_pass(
        f_TF, words.candidates, words.W_VF[target_T], words.b_V[target_T], words.column_V[target_T],
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
