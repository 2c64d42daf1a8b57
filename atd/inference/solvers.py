"""Solvers of the inference problem: the convex one for its one optimum, and the paper's SGD.

n texts, T positions of all of them, D attribute dim.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from atd.inference import surrogate as nearby
from atd.inference.objective import Problem, softmax_slope

PAYS = 8  # the stand-in is used where the vocabulary is so many times as large
PIECES = 4096  # and not for texts of more: their words would take gigabytes
SHRINKS = 0.5  # what is left of ‖∇J‖ after a step by the stand-in, at most
ROUGH = 10  # steps from the start, at most, by a subset of words that is the same for all texts
INNER = 0.05  # the minimum of the stand-in is sought to this share of ‖∇J‖
DROP = 0.5  # where it copies the words of each, texts that are done are left out when so few are not


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
    def at(cls, x_nD: Tensor) -> Inferred:
        """Nothing known yet but x."""
        zero = x_nD.new_zeros(len(x_nD), dtype=torch.double)
        return cls(x_nD.clone(), zero.clone(), zero + torch.inf, zero.long(), zero.bool(), zero.clone())

    def write(self, rows: Tensor, part: Inferred, which: Tensor | None = None) -> None:
        """Put what is known of some texts in its place, or of those of them that `which` says."""
        for name in self.__dataclass_fields__:
            value = getattr(part, name)
            getattr(self, name)[rows if which is None else rows[which]] = value if which is None else value[which]

    def select(self, rows: Tensor) -> Inferred:
        return Inferred(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    @classmethod
    def join(cls, parts: list[Inferred]) -> Inferred:
        return cls(*(torch.cat([getattr(part, name) for part in parts]) for name in cls.__dataclass_fields__))


def solve_convex(problem: Problem, x_nD: Tensor, tolerance: float, iterations: int, **_unused) -> Inferred:
    """The one optimum: by minima of a stand-in with few words (`nearby`) where the vocabulary is much larger, and by
    L-BFGS on J itself where it is not, or where those steps do not get nearer."""
    limit = problem.noise().clamp(min=problem.l2 * tolerance)
    if problem.candidates.W_GSP.shape[1] < PAYS * nearby.WORDS or len(problem.text_G) > PIECES:
        return _lbfgs(problem, x_nD, limit, iterations)
    result = _by_nearby(problem, _roughly(problem, x_nD, limit) if iterations else x_nD, limit, iterations)
    left = (~result.converged & (result.iterations < iterations)).nonzero()[:, 0]
    if len(left):
        most = iterations - int(result.iterations[left].min())
        more = _lbfgs(problem.select(left), result.x[left], limit[left], most)
        more.iterations += result.iterations[left]
        result.write(left, more)
    return result


def _roughly(problem: Problem, x_nD: Tensor, limit_n: Tensor) -> Tensor:
    """The optimum of the softmax over a subset of words, about."""
    words = problem.words.subset(nearby.WORDS)
    rough = replace(problem, words=words, candidates=words.candidates, column_GR=words.column_V[problem.target_GR])
    norm_n = rough.pull(x_nD, rough.value_and_gradient(x_nD)[2]).norm(dim=1)
    return _lbfgs(rough, x_nD, (INNER * norm_n).clamp(min=limit_n), ROUGH).x


def _by_nearby(problem: Problem, x_nD: Tensor, limit_n: Tensor, iterations: int) -> Inferred:
    """Evaluate J, minimise the stand-in, and so on, as long as the gradient shrinks."""
    result = Inferred.at(x_nD)
    live, work, x, before = torch.arange(len(x_nD), device=x_nD.device), problem, x_nD, limit_n + torch.inf
    for step in range(iterations + 1):
        nll, J, g, likely_GV = nearby.evaluate(work, x)
        norm = work.pull(x, g).norm(dim=1)
        done, worse = norm <= limit_n[live], norm > SHRINKS * before
        found = Inferred(x, nll, J, torch.full_like(live, step), done, norm.double())
        result.write(live, found, done | ~worse | (result.objective[live] > J))
        keep = (~done & ~worse).nonzero()[:, 0]
        if len(keep) == 0 or step == iterations:
            break
        if len(keep) < len(live):
            likely_GV = likely_GV[work.pieces(keep)]
            live, work, x, g, norm = live[keep], work.select(keep), x[keep], g[keep], norm[keep]
        near, before = nearby.stand_in(work, x, g, likely_GV), norm
        x = _lbfgs(near, x, (INNER * norm).clamp(min=0.5 * limit_n[live]), iterations).x
    return result


def _lbfgs(problem: Problem, x_nD: Tensor, limit_n: Tensor, iterations: int, memory: int = 8) -> Inferred:
    """Projected L-BFGS on all texts at once, each with its own step length, until the gradient is below the limit.

    The quasi-Newton direction lives on the coordinates away from 0 (Bertsekas' two-metric projection).
    """
    nll, J, g = problem.value_and_gradient(x_nD)
    result = Inferred.at(x_nD)
    live, work, x = torch.arange(len(x_nD), device=x_nD.device), problem, x_nD
    history: list[tuple[Tensor, Tensor]] = []
    for step in range(iterations + 1):
        norm = work.pull(x, g).norm(dim=1)
        done = norm <= limit_n[live]
        result.write(live, Inferred(x, nll, J, torch.full_like(live, step), done, norm.double()))
        keep = (~done).nonzero()[:, 0]
        if len(keep) == 0 or step == iterations:
            break
        if len(keep) <= (1 if work.candidates.shared else DROP) * len(live):
            live, work, done = live[keep], work.select(keep), done[keep]
            x, nll, J, g = x[keep], nll[keep], J[keep], g[keep]
            history = [(s[keep], y[keep]) for s, y in history]
        bound = work.bound(x, g)
        d = torch.where(bound, -x, _direction(work, g, ~bound, history)).masked_fill(done[:, None], 0)
        new_x, nll, J, new_g, moved = _line_search(work, x, nll, J, g, d)
        history = [*history, (new_x - x, new_g - g)][-memory:]
        x, g = new_x, new_g
        if not moved.all():  # no decrease left in single precision: forget the curvature of those texts
            history = [(s * moved[:, None], y) for s, y in history]
    return result


def _direction(problem: Problem, g: Tensor, free: Tensor, history: list[tuple[Tensor, Tensor]]) -> Tensor:
    """The two-loop recursion around the typical curvature, with the pairs (s, y) cut to the free coordinates."""
    q, l2 = g * free, problem.l2
    stack, scale = [], None
    for s, y in reversed(history):
        s, y = s * free, y * free
        sy = (s * y).sum(1)
        good = sy > 0.5 * l2 * s.square().sum(1)  # a smaller curvature than the L2 term's is rounding
        rho = torch.where(good, 1 / sy.where(good, torch.ones_like(sy)), 0.0)[:, None]
        alpha = rho * (s * q).sum(1, keepdim=True)
        q = q - alpha * y
        stack.append((s, y, rho, alpha))
        if scale is None:  # how the newest pair's curvature compares with the typical one
            scale = torch.where(good, sy / (y * problem.scaled(y)).sum(1).clamp(min=1e-30), 1.0)[:, None]
    q = problem.scaled(q) * free * (1.0 if scale is None else scale)
    for s, y, rho, alpha in reversed(stack):
        q = q + s * (alpha - rho * (y * q).sum(1, keepdim=True))
    d = -q * free
    uphill = (d * g).sum(1, keepdim=True) >= 0
    return torch.where(uphill, -g * free / torch.clamp(g.norm(dim=1, keepdim=True), min=l2), d)


def _line_search(problem: Problem, x: Tensor, nll: Tensor, J: Tensor, g: Tensor, d: Tensor):
    """Halve each text's step until J falls enough (Armijo along the projected path).

    Where the change of J drowns in rounding the slopes decide (the approximate Wolfe condition of Hager and Zhang):
    a convex function whose slope has not turned as steep upwards as it was downwards has not risen.
    """
    blur = problem.blur(x)
    out_x, out_nll, out_J, out_g = x.clone(), nll.clone(), J.clone(), g.clone()
    moved = torch.zeros(len(x), dtype=torch.bool, device=x.device)
    rows, work, step = torch.arange(len(x), device=x.device), problem, 1.0
    for _ in range(20):
        trial = problem.project(x[rows] + step * d[rows])
        trial_nll, trial_J, trial_g = work.value_and_gradient(trial)
        change = trial - x[rows]
        slope, new_slope = (g[rows] * change).sum(1), (trial_g * change).sum(1)
        ok = trial_J <= J[rows] + 1e-4 * slope - blur[rows]
        ok |= (trial_J <= J[rows] + blur[rows]) & (new_slope <= -0.8 * slope)
        at = rows[ok]
        out_x[at], out_nll[at], out_J[at], out_g[at] = trial[ok], trial_nll[ok], trial_J[ok], trial_g[ok]
        moved[at] = True
        rows = rows[~ok]
        if len(rows) == 0:
            break
        work, step = work.select((~ok).nonzero()[:, 0]), step / 2
    return out_x, out_nll, out_J, out_g, moved


def solve_sgd(
    problem: Problem, x_nD: Tensor, lr: float, epochs: int, seed: int, tolerance: float, **_unused
) -> Inferred:
    """The paper's: gradient steps on one random position of each text at a time, step size falling to zero."""
    generator = torch.Generator().manual_seed(seed)
    first_n, longest = problem.first_n * problem.real_GR.shape[1], int(problem.count_n.max())
    r_TF, target_T = problem.r_GRF.flatten(0, 1), problem.target_GR.flatten()
    total = max(1, epochs * longest)
    x, done = x_nD.clone(), 0
    for _ in range(epochs):
        order_nR = _shuffle(problem.count_n, longest, generator)
        for j in range(longest):
            rows = (problem.count_n > j).nonzero()[:, 0]
            at = first_n[rows] + order_nR[rows, j]
            count = problem.count_n[rows, None]
            r, gate = r_TF[at], problem.gate(x[rows])
            _, slope = softmax_slope(problem.words, r * gate, target_T[at])
            g = (r * slope) @ problem.W_fd + problem.l2 / count * (x[rows] - problem.prior_nD[rows])
            x[rows] = problem.project(x[rows] - lr * (1 - done / total) * g)
            done += 1
    nll, J, g = problem.value_and_gradient(x)
    norm = problem.pull(x, g).norm(dim=1)
    limit = problem.noise().clamp(min=problem.l2 * tolerance)
    return Inferred(x, nll, J, problem.count_n * epochs, norm <= limit, norm.double())


def _shuffle(count_n: Tensor, longest: int, generator: torch.Generator) -> Tensor:
    """For every text its positions 0 … count−1 in random order, then others."""
    key = torch.rand(len(count_n), longest, generator=generator).to(count_n.device)
    beyond = torch.arange(longest, device=count_n.device) >= count_n[:, None]
    return torch.argsort(key + beyond, dim=1)


SOLVERS = {"convex": solve_convex, "sgd": solve_sgd}
