"""The solvers of inference: `convex` for the one optimum of each text, and `sgd`, the paper's.

`convex` takes four stages where the vocabulary is large; where it is small only the last two:

1. L-BFGS over one subset of words, the same for all texts. It is rough, but costs no evaluation of J.
2. Steps by surrogates: evaluate J, minimise its surrogate around that x by L-BFGS, and so on, as long as the gradient
   shrinks. An evaluation of J takes the gradient down 10 to 30 times.
3. L-BFGS on J itself, for texts whose gradient did not shrink.
4. Newton's method in double precision, for texts where this does not end: those of models with extreme weights.

n texts, T positions of all of them, D attribute dim, F factors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from atd.inference import lbfgs, newton, surrogate
from atd.inference.objective import Problem
from atd.inference.point import Inferred

PAYS = 8  # surrogates are used where the vocabulary is so many times as large as theirs
PIECES = 4096  # and not for texts of more pieces: their words would take gigabytes
SHRINKS = 0.5  # what is left of ‖∇J‖ after a step by a surrogate, at most
ROUGH = 10  # iterations over the common subset, at most
RESERVED = 50  # iterations for Newton's method, where as many more are allowed
STEEP = 1000.0  # a change of a logit over a step of length 1; trained models have some tens
INNER = 0.05  # minima of surrogates are sought to this share of ‖∇J‖


def solve_convex(problem: Problem, x_nD: Tensor, tolerance: float, iterations: int, **_unused) -> Inferred:
    """The optimum, from x, in at most so many iterations: steps by surrogates or, without these, of L-BFGS."""
    limit_n = _limit(problem, tolerance)
    most = iterations - RESERVED if iterations >= 2 * RESERVED else iterations
    most_n = torch.full_like(problem.count_n, most).where(problem.steepness() < STEEP, 0)
    if _surrogates_pay(problem):
        x_nD = _roughly(problem, x_nD, limit_n) if iterations else x_nD
        result = _by_surrogates(problem, x_nD, limit_n, iterations)
        left = (~result.converged & (result.iterations < most_n)).nonzero()[:, 0]
        if len(left):
            taken = result.iterations[left]
            more = lbfgs.minimise(problem.select(left), result.x[left], limit_n[left], most_n[left] - taken)
            more.iterations += taken
            result.write(left, more)
    else:
        result = lbfgs.minimise(problem, x_nD, limit_n, most_n)
    left = (~result.converged & (result.iterations < iterations)).nonzero()[:, 0]
    if len(left):
        _by_newton(problem.select(left), result, left, tolerance, iterations)
    return result


def _surrogates_pay(problem: Problem) -> bool:
    """Where the softmax runs over many words, and these are all words."""
    S = problem.candidates.S
    return PAYS * surrogate.WORDS <= S == len(problem.words.b_V) and len(problem.text_G) <= PIECES


def _by_newton(problem: Problem, result: Inferred, left: Tensor, tolerance: float, iterations: int) -> None:
    """Write to `result` what Newton's method makes of some texts, which `problem` is about."""
    before = result.select(left)
    double = problem.double()
    found = newton.minimise(double, before.x.double(), _limit(double, tolerance), iterations - before.iterations)
    found.x = found.x.to(before.x.dtype)
    found.iterations += before.iterations
    better = (found.converged | ~(found.objective >= double.evaluate(before.x.double()).J_n)).nonzero()[:, 0]
    result.write(left[better], found.select(better))
    result.iterations[left] = found.iterations


def _limit(problem: Problem, tolerance: float) -> Tensor:
    """The norm of the gradient at which a text is done (n).

    J is l2-strongly convex, so x is then within `tolerance` of the optimum, or as near as rounding lets one see. But in
    a model of extreme weights single precision sees nothing, and that is no reason to be content.
    """
    return problem.noise().where(problem.steepness() < STEEP, 0).clamp(min=problem.l2 * tolerance)


def _roughly(problem: Problem, x_nD: Tensor, limit_n: Tensor) -> Tensor:
    """The optimum of the softmax over a subset of words, about."""
    words = problem.words.subset(surrogate.WORDS)
    rough = replace(problem, words=words, candidates=words.candidates, slot_GR=words.slot_V[problem.target_GR])
    norm_n = rough.pull(rough.evaluate(x_nD)).norm(dim=1)
    return lbfgs.minimise(rough, x_nD, (INNER * norm_n).clamp(min=limit_n), ROUGH).x


def _by_surrogates(problem: Problem, x_nD: Tensor, limit_n: Tensor, iterations: int) -> Inferred:
    """Evaluate J, minimise its surrogate, and so on, as long as the gradient shrinks."""
    result = Inferred.at(x_nD)
    work = problem
    live = torch.arange(len(x_nD), device=x_nD.device)  # the texts that `work` is about
    before = limit_n + torch.inf
    for step in range(iterations + 1):
        point, likely_GV = surrogate.evaluate(work, x_nD)
        norm = work.pull(point).norm(dim=1)
        done = norm <= limit_n[live]
        worse = norm > SHRINKS * before
        better = (done | ~worse | (result.objective[live] > point.J_n)).nonzero()[:, 0]
        found = Inferred.of(point, torch.full_like(live, step), done, norm)
        result.write(live[better], found.select(better))
        keep = (~done & ~worse).nonzero()[:, 0]
        if len(keep) == 0 or step == iterations:
            break
        if len(keep) < len(live):
            likely_GV = likely_GV[work.pieces(keep)]
            live = live[keep]
            work = work.select(keep)
            point = point.select(keep)
            norm = norm[keep]
        nearby = surrogate.around(work, point, likely_GV)
        x_nD = lbfgs.minimise(nearby, point.x_nD, (INNER * norm).clamp(min=0.5 * limit_n[live]), iterations).x
        before = norm
    return result


def solve_sgd(
    problem: Problem, x_nD: Tensor, lr: float, epochs: int, seed: int, tolerance: float, **_unused
) -> Inferred:
    """The paper's: gradient steps on one random position of each text at a time, step size falling to zero."""
    generator = torch.Generator().manual_seed(seed)
    longest = int(problem.count_n.max())
    effect = problem.effect
    r_TF = problem.r_GRF.flatten(0, 1)
    target_T = problem.target_GR.flatten()
    first_n = problem.first_n * problem.real_GR.shape[1]
    total = max(1, epochs * longest)
    x = x_nD.clone()
    done = 0
    for _ in range(epochs):
        order_nR = _shuffle(problem.count_n, longest, generator)
        for j in range(longest):
            rows = (problem.count_n > j).nonzero()[:, 0]
            at = first_n[rows] + order_nR[rows, j]
            r = r_TF[at]
            h = effect.apply(effect(x[rows]), r)
            slope = effect.adjoint(problem.words.slope(h, target_T[at]), r)
            count = problem.count_n[rows, None]
            g = slope @ effect.W_ED + problem.l2 / count * (x[rows] - problem.prior_nD[rows])
            x[rows] = problem.project(x[rows] - lr * (1 - done / total) * g)
            done += 1
    point = problem.evaluate(x)
    norm_n = problem.pull(point).norm(dim=1)
    return Inferred.of(point, problem.count_n * epochs, norm_n <= _limit(problem, tolerance), norm_n)


def _shuffle(count_n: Tensor, longest: int, generator: torch.Generator) -> Tensor:
    """For every text its positions 0 … count−1 in random order, then others."""
    key = torch.rand(len(count_n), longest, generator=generator).to(count_n.device)
    beyond = torch.arange(longest, device=count_n.device) >= count_n[:, None]
    return torch.argsort(key + beyond, dim=1)


SOLVERS: dict[str, Callable[..., Inferred]] = {"convex": solve_convex, "sgd": solve_sgd}
