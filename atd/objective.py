"""What inference minimises: J(x) = Σ_t −log P(w_t | context_t, x) + (l2/2)·‖x − prior‖², for many texts at once.

n texts, T positions of all of them, D attribute dim, F factors, S words of the softmax.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from atd.errors import AtdError

LOGITS = 2**22  # logits alive at once: bounds memory, not the result


class SoftmaxWords:
    """The words the softmax runs over: all, or a fixed subset that stands for all.

    The subset is the same for every text and seed: the S/2 words of largest bias (frequency, in a trained model)
    exactly, and every k-th of the others in order of bias, each counted k times. The target is always added.
    """

    def __init__(self, W_VF: Tensor, b_V: Tensor, samples: int | None = None):
        self.W_VF, self.b_V = W_VF, b_V
        self.W_SF, self.b_S, self.inside_V = W_VF, b_V, None
        V = len(b_V)
        if samples is None or samples >= V:
            return
        if samples < 2:
            raise AtdError(f"inference.samples must be at least 2, got {samples}")
        order = torch.argsort(b_V, descending=True, stable=True)
        head = samples // 2
        tail = order[head:]
        pick = torch.arange(samples - head, device=tail.device) * len(tail) // (samples - head)
        ids = torch.cat([order[:head], tail[pick]])
        weight = torch.ones(samples, device=b_V.device, dtype=b_V.dtype)
        weight[head:] = len(tail) / (samples - head)
        self.W_SF, self.b_S = W_VF[ids], b_V[ids] + weight.log()
        self.inside_V = torch.zeros(V, dtype=torch.bool, device=b_V.device)
        self.inside_V[ids] = True


@dataclass
class Problem:
    """J and its gradient for a batch of texts, whose positions lie one text after the other."""

    words: SoftmaxWords
    r_TF: Tensor
    target_T: Tensor
    count_n: Tensor
    W_fd: Tensor
    gate_bias: float
    prior_nD: Tensor
    l2: float
    positive: bool

    def __post_init__(self):
        self.end_n = self.count_n.cumsum(0)
        self.text_T = torch.repeat_interleave(torch.arange(len(self.count_n), device=self.r_TF.device), self.count_n)

    def noise(self) -> Tensor:
        """How far ‖∇J‖ can be trusted (n): rounding of the terms that cancel in it."""
        term_T = (self.r_TF * self.words.W_VF[self.target_T]).norm(dim=1) * torch.linalg.matrix_norm(self.W_fd, 2)
        return self._rounding(term_T)

    def blur(self, x_nD: Tensor) -> Tensor:
        """How far J can be trusted (n): rounding of the logits it is made of."""
        gate_TF = (x_nD @ self.W_fd.T + self.gate_bias)[self.text_T]
        goal_T = (self.r_TF * gate_TF * self.words.W_VF[self.target_T]).sum(1) + self.words.b_V[self.target_T]
        return self._rounding(1 + goal_T.abs()).double()

    def _rounding(self, term_T: Tensor) -> Tensor:
        size_n = torch.zeros(len(self.count_n), device=term_T.device, dtype=term_T.dtype)
        return 4 * torch.finfo(term_T.dtype).eps * size_n.index_add_(0, self.text_T, term_T)

    def select(self, rows: Tensor) -> Problem:
        """The same for some of the texts."""
        if len(rows) == len(self.count_n):
            return self
        count = self.count_n[rows]
        shift = (self.end_n - self.count_n)[rows] - (count.cumsum(0) - count)
        where = torch.arange(int(count.sum()), device=rows.device) + torch.repeat_interleave(shift, count)
        return Problem(
            self.words, self.r_TF[where], self.target_T[where], count,
            self.W_fd, self.gate_bias, self.prior_nD[rows], self.l2, self.positive,
        )

    def value_and_gradient(self, x_nD: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Negative log-likelihood (n), J (n, double), ∇J (n×D)."""
        gate_nF = x_nD @ self.W_fd.T + self.gate_bias
        nll_n = torch.zeros(len(x_nD), dtype=torch.float64, device=x_nD.device)
        slope_nF = torch.zeros_like(gate_nF)
        chunk = max(64, LOGITS // len(self.words.b_S))
        for i in range(0, len(self.text_T), chunk):
            text, r, target = self.text_T[i : i + chunk], self.r_TF[i : i + chunk], self.target_T[i : i + chunk]
            nll, slope = softmax_slope(self.words, r * gate_nF[text], target)
            nll_n.index_add_(0, text, nll.double())
            slope_nF.index_add_(0, text, r * slope)
        away_nD = x_nD - self.prior_nD
        J_n = nll_n + 0.5 * self.l2 * away_nD.double().square().sum(1)
        return nll_n, J_n, slope_nF @ self.W_fd + self.l2 * away_nD

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
    logits_TS = torch.addmm(words.b_S, f_TF, words.W_SF.T)
    goal_TF = words.W_VF[target_T]
    goal_T = (f_TF * goal_TF).sum(1) + words.b_V[target_T]
    log_Z_T = logits_TS.logsumexp(1)
    if words.inside_V is not None:
        outside = torch.where(words.inside_V[target_T], -torch.inf, goal_T)
        log_Z_T = torch.logaddexp(log_Z_T, outside)
        goal_TF = goal_TF * (1 - (outside - log_Z_T).exp())[:, None]
    p_TS = logits_TS.sub_(log_Z_T[:, None]).exp_()
    return log_Z_T - goal_T, torch.addmm(goal_TF, p_TS, words.W_SF, beta=-1)
