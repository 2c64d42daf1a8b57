"""Attribute vectors of unseen texts: all weights frozen, only x moves (end of section 2.5).

With the weights frozen the logits are affine in x, so for each text

    J(x) = Σ_t −log P(w_t | context_t, x) + (l2/2)·‖x − prior‖²

is strongly convex: there is one x per text, whatever the seed, the batch or the order. Under the rectifier x ≥ 0.

n texts, T positions of all of them, N context size, D attribute dim, F factors, S words of the softmax.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from atd.errors import AtdError
from atd.lm import MultiplicativeLM
from atd.vocabulary import BOS_ID, UNK_ID

POSITIONS = 32768  # positions solved together: bounds memory, not the result
LOGITS = 2**22  # logits alive at once


@dataclass
class Inferred:
    """x (n×D) and, per text, the negative log-likelihood, J, and how the solver fared."""

    x: Tensor
    nll: Tensor
    objective: Tensor
    iterations: Tensor
    converged: Tensor
    grad_norm: Tensor

    @classmethod
    def join(cls, parts: list[Inferred]) -> Inferred:
        return cls(*(torch.cat([getattr(part, name) for part in parts]) for name in cls.__dataclass_fields__))


def infer(
    model: MultiplicativeLM,
    tokens: Tensor,
    offsets: Tensor,
    *,
    prior: Tensor | None = None,
    l2: float = 1.0,
    method: str = "convex",
    samples: int | None = None,
    tolerance: float = 1e-5,
    iterations: int = 100,
    lr: float = 0.1,
    epochs: int = 20,
    seed: int = 0,
    language: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Inferred:
    """Fit x for every text of the flat `tokens`, bounded by `offsets` (n+1).

    `prior` (D or n×D) is where x starts and is drawn to; default the mean of the trained vectors. `samples`
    replaces the full softmax by a fixed subset (`SoftmaxWords`). `convex` runs until ‖∇J‖ ≤ l2·tolerance, which
    bounds the distance to the optimum by `tolerance`, or until ∇J is lost in rounding; `sgd` (the paper's)
    makes `epochs` passes of step size `lr`. `progress` is told how many texts each batch finished. Unknown
    words are context but never targets; a text without a known word keeps its prior.
    """
    if model.M is not None:
        raise AtdError("inference needs logits that are affine in x: train with model.additive=false")
    if l2 <= 0:
        raise AtdError(f"inference.l2 must be positive, got {l2}: it is what makes the vector of a text unique")
    if method not in SOLVERS:
        raise AtdError(f"inference.method is one of {', '.join(SOLVERS)}, not {method!r}")
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            return _infer(
                model, tokens, offsets, prior, l2, samples, language, progress, SOLVERS[method],
                dict(tolerance=tolerance, iterations=iterations, lr=lr, epochs=epochs, seed=seed),
            )
    finally:
        model.train(training)


def _infer(model, tokens, offsets, prior, l2, samples, language, progress, solve, options) -> Inferred:
    device = model.b.device
    tokens, offsets = tokens.to(device).long(), offsets.to(device).long()
    n, D = len(offsets) - 1, model.W_fd.shape[1]
    if prior is None:
        prior = model.attributes.vectors().mean(0)
    positive = model.attributes.activation == "relu"
    prior_nD = prior.to(device, model.b.dtype).expand(n, D)
    start_nD = prior_nD.clamp(min=0) if positive else prior_nD
    words = SoftmaxWords(*model.output(language), samples)
    known = tokens != UNK_ID
    count_n = torch.diff(torch.cat([known.new_zeros(1, dtype=torch.long), known.long().cumsum(0)])[offsets])
    if empty := int((count_n == 0).sum()):
        warnings.warn(f"{empty} of {n} texts hold no known word: they get the prior vector", stacklevel=4)

    parts = []
    for first, last in _batches(offsets):
        texts = slice(first, last)
        where = torch.arange(int(offsets[first]), int(offsets[last]), device=device)
        where = where[known[where]]
        context_TN = windows(tokens, offsets, where, model.C.shape[0])
        if language:
            context_TN = context_TN + model.bounds[language]
        problem = Problem(
            words, model.context(context_TN), tokens[where], count_n[texts],
            model.W_fd, model.gate_bias, prior_nD[texts], l2, positive,
        )
        parts.append(solve(problem, start_nD[texts].contiguous(), **options))
        if progress is not None:
            progress(last - first)
    return Inferred.join(parts) if parts else Inferred(prior_nD, *(prior_nD.new_zeros(0) for _ in range(5)))


def _batches(offsets: Tensor) -> list[tuple[int, int]]:
    """Runs of whole texts with about POSITIONS positions each."""
    bounds, n = [0], len(offsets) - 1
    while bounds[-1] < n:
        end = offsets[bounds[-1]] + POSITIONS
        bounds.append(max(bounds[-1] + 1, int(torch.searchsorted(offsets, end, right=True)) - 1))
    return list(pairwise(bounds))


def windows(tokens: Tensor, offsets: Tensor, where: Tensor, N: int) -> Tensor:
    """The N words before each position in `where` (T×N); `<s>` before the start of the text."""
    start = offsets[torch.searchsorted(offsets, where, right=True) - 1]
    index_TN = where[:, None] + torch.arange(-N, 0, device=where.device)
    context_TN = tokens[index_TN.clamp(min=0)]
    return context_TN.masked_fill(index_TN < start[:, None], BOS_ID)


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
            nll, slope = _softmax(self.words, r * gate_nF[text], target)
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


def _softmax(words: SoftmaxWords, f_TF: Tensor, target_T: Tensor) -> tuple[Tensor, Tensor]:
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


def solve_convex(
    problem: Problem, x_nD: Tensor, tolerance: float, iterations: int, memory: int = 8, **_
) -> Inferred:
    """Projected L-BFGS on all texts at once, each with its own step length; texts that are done drop out.

    The quasi-Newton direction lives on the coordinates away from 0 (Bertsekas' two-metric projection). Single
    precision cannot see a decrease of J below ~1e-6 of its size, so the line search forgives that much.
    """
    nll, J, g = problem.value_and_gradient(x_nD)
    limit = problem.noise().clamp(min=problem.l2 * tolerance)
    zero = torch.zeros_like(J)
    result = Inferred(x_nD.clone(), nll.clone(), J.clone(), zero.long(), zero.bool(), zero)
    live, work, history = torch.arange(len(x_nD), device=x_nD.device), problem, []
    x = x_nD
    for step in range(iterations + 1):
        norm = work.pull(x, g).norm(dim=1)
        done = norm <= limit[live]
        result.x[live], result.nll[live], result.objective[live] = x, nll, J
        result.converged[live], result.grad_norm[live] = done, norm.double()
        result.iterations[live] = step
        keep = (~done).nonzero()[:, 0]
        if len(keep) == 0 or step == iterations:
            break
        if len(keep) < len(live):
            live, work = live[keep], work.select(keep)
            x, nll, J, g = x[keep], nll[keep], J[keep], g[keep]
            history = [(s[keep], y[keep]) for s, y in history]
        bound = work.bound(x, g)
        d = torch.where(bound, -x, _direction(g, ~bound, history, problem.l2))
        new_x, nll, J, new_g, moved = _line_search(work, x, nll, J, g, d)
        history = [*history, (new_x - x, new_g - g)][-memory:]
        x, g = new_x, new_g
        if not moved.all():  # no decrease left in single precision: forget the curvature of those texts
            history = [(s * moved[:, None], y) for s, y in history]
    return result


def _direction(g: Tensor, free: Tensor, history: list[tuple[Tensor, Tensor]], l2: float) -> Tensor:
    """The two-loop recursion, with the pairs (s, y) cut to the free coordinates."""
    q = g * free
    stack, scale = [], None
    for s, y in reversed(history):
        s, y = s * free, y * free
        sy = (s * y).sum(1)
        good = sy > 1e-12
        rho = torch.where(good, 1 / sy.where(good, torch.ones_like(sy)), 0.0)[:, None]
        alpha = rho * (s * q).sum(1, keepdim=True)
        q = q - alpha * y
        stack.append((s, y, rho, alpha))
        gamma = torch.where(good, sy / y.square().sum(1).clamp(min=1e-30), torch.nan)[:, None]
        scale = gamma if scale is None else torch.where(scale.isnan(), gamma, scale)
    # Before any curvature is known the step is at most 1 long; afterwards 1/l2 bounds the inverse curvature.
    first = 1 / torch.clamp(q.norm(dim=1, keepdim=True), min=l2)
    q = q * (first if scale is None else torch.where(scale.isnan(), first, scale))
    for s, y, rho, alpha in reversed(stack):
        q = q + s * (alpha - rho * (y * q).sum(1, keepdim=True))
    d = -q * free
    uphill = (d * g).sum(1, keepdim=True) >= 0
    return torch.where(uphill, -g * free / torch.clamp(g.norm(dim=1, keepdim=True), min=l2), d)


def _line_search(problem: Problem, x: Tensor, nll: Tensor, J: Tensor, g: Tensor, d: Tensor):
    """Halve each text's step until J falls enough (Armijo along the projected path)."""
    out_x, out_nll, out_J, out_g = x.clone(), nll.clone(), J.clone(), g.clone()
    moved = torch.zeros(len(x), dtype=torch.bool, device=x.device)
    rows, work, step = torch.arange(len(x), device=x.device), problem, 1.0
    for _ in range(20):
        trial = problem.project(x[rows] + step * d[rows])
        trial_nll, trial_J, trial_g = work.value_and_gradient(trial)
        expected = (g[rows] * (trial - x[rows])).sum(1)
        ok = trial_J <= J[rows] + 1e-4 * expected + 1e-6 * (1 + J[rows].abs())
        at = rows[ok]
        out_x[at], out_nll[at], out_J[at], out_g[at] = trial[ok], trial_nll[ok], trial_J[ok], trial_g[ok]
        moved[at] = True
        rows = rows[~ok]
        if len(rows) == 0:
            break
        work, step = work.select((~ok).nonzero()[:, 0]), step / 2
    return out_x, out_nll, out_J, out_g, moved


def solve_sgd(problem: Problem, x_nD: Tensor, lr: float, epochs: int, seed: int, tolerance: float, **_) -> Inferred:
    """The paper's: gradient steps on one random position of each text at a time, step size falling to zero."""
    generator = torch.Generator().manual_seed(seed)
    first_n = problem.end_n - problem.count_n
    longest = int(problem.count_n.max())
    total = max(1, epochs * longest)
    x, done = x_nD.clone(), 0
    for _ in range(epochs):
        order_T = _shuffle_within(problem.count_n, generator)
        for j in range(longest):
            rows = (problem.count_n > j).nonzero()[:, 0]
            at = order_T[first_n[rows] + j]
            count = problem.count_n[rows, None]
            r, gate = problem.r_TF[at], x[rows] @ problem.W_fd.T + problem.gate_bias
            _, slope = _softmax(problem.words, r * gate, problem.target_T[at])
            g = (r * slope) @ problem.W_fd + problem.l2 / count * (x[rows] - problem.prior_nD[rows])
            x[rows] = problem.project(x[rows] - lr * (1 - done / total) * g)
            done += 1
    nll, J, g = problem.value_and_gradient(x)
    norm = problem.pull(x, g).norm(dim=1)
    limit = problem.noise().clamp(min=problem.l2 * tolerance)
    return Inferred(x, nll, J, problem.count_n * epochs, norm <= limit, norm.double())


def _shuffle_within(count_n: Tensor, generator: torch.Generator) -> Tensor:
    """Positions 0…T−1 with each text's own run shuffled."""
    text_T = torch.repeat_interleave(torch.arange(len(count_n), device=count_n.device), count_n)
    key = torch.rand(len(text_T), generator=generator, dtype=torch.float64).to(count_n.device)
    return torch.argsort(text_T + key)


SOLVERS = {"convex": solve_convex, "sgd": solve_sgd}
