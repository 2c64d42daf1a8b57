"""Newton's method in double precision, for the few texts that L-BFGS leaves: those of models with extreme weights.

There J is nearly a polyhedron: flat faces with edges so sharp that slopes say nothing of the way, and single precision
does not see the edges at all. So the softmax is *softened* first. With all logits and l2 divided by a temperature τ,

    J_τ(x) = Σ_t −log softmax(logits/τ)[w_t] + (l2/τ)/2·‖x − prior‖²

has its optimum near that of J when τ is near 1, and is round when τ is large. Its optimum is followed from a τ at which
a step of length 1 changes a logit by about 1, down to τ = 1, and at each τ a few steps of Newton's method suffice.

The Hessian is that of the likeliest words, which is all of it where weights are extreme. The optimum does not depend on
it: J and its gradient are those of all words.

n texts, G pieces of R positions, D attribute dim, F factors, S words.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from atd.candidates import LOG2
from atd.inference.lbfgs import line_search
from atd.inference.objective import Problem
from atd.inference.point import Inferred, Point

COOLING = 4.0  # the temperature falls by this
NEAR = 1.0  # an optimum on the way is found when the next step would lower J_τ by no more
LIKELY = 512  # words of a text that its Hessian is made of, at most


def minimise(problem: Problem, x_nD: Tensor, limit_n: Tensor, iterations_n: Tensor) -> Inferred:
    """The optimum of each text, from x, in at most so many steps for all temperatures together (n)."""
    texts = torch.arange(len(x_nD), device=x_nD.device).split(1)
    parts = [_follow(problem.select(i), x_nD[i], limit_n[i], int(iterations_n[i])) for i in texts]
    return Inferred.join(parts)


def _follow(problem: Problem, x_1D: Tensor, limit_1: Tensor, iterations: int) -> Inferred:
    """The optimum of one text."""
    taken = 0
    temperatures = _temperatures(problem)
    x_1D = _start(problem.softened(temperatures[0]), x_1D)
    for tau in temperatures:
        soft = problem.softened(tau)
        while taken < iterations:
            likely_GS = x_1D.new_empty(len(soft.text_G), soft.candidates.S)
            point = soft.evaluate(x_1D, likely_GS)
            if soft.pull(point).norm() <= limit_1 / tau or not point.g_nD.isfinite().all():
                break
            d = _step(soft, point, likely_GS)
            if tau > 1 and -(d * point.g_nD).sum() <= NEAR:
                break
            new, moved = line_search(soft, point, d)
            taken += 1
            x_1D = new.x_nD
            if not moved:
                break
    point = problem.evaluate(x_1D)
    norm_1 = problem.pull(point).norm(dim=1)
    return Inferred.of(point, torch.full_like(problem.count_n, taken), norm_1 <= limit_1, norm_1)


def _start(soft: Problem, x_1D: Tensor) -> Tensor:
    """x or, where that is better, the prior: a method that failed may have ended anywhere."""
    prior_1D = soft.project(soft.prior_nD)
    return x_1D if soft.evaluate(x_1D).J_n <= soft.evaluate(prior_1D).J_n else prior_1D


def _temperatures(problem: Problem) -> list[float]:
    """From one at which a step of length 1 changes a logit by about 1, down to 1."""
    steepness = max(1.0, float(problem.steepness()))
    return [COOLING**i for i in reversed(range(1 + math.ceil(math.log(steepness, COOLING))))]


def _step(problem: Problem, point: Point, likely_GS: Tensor) -> Tensor:
    """Newton's step: to the minimum of the parabola that touches J at x, under x ≥ 0 if that is asked (1×D)."""
    H_DD = _hessian(problem, point.x_nD, likely_GS)
    L_DD = torch.linalg.cholesky(H_DD)
    down_D1 = torch.linalg.solve_triangular(L_DD, -point.g_nD.T, upper=False)
    if not problem.positive:
        return torch.linalg.solve_triangular(L_DD.T, down_D1, upper=True).T
    from scipy.optimize import nnls

    goal_D = (L_DD.T @ point.x_nD.T + down_D1)[:, 0]  # the parabola is ½‖Lᵀz − goal‖² in z, the x after the step
    z_D, _ = nnls(L_DD.T.cpu().numpy(), goal_D.cpu().numpy(), maxiter=30 * len(goal_D))
    return torch.from_numpy(z_D).to(point.x_nD)[None] - point.x_nD


def _hessian(problem: Problem, x_1D: Tensor, likely_GS: Tensor) -> Tensor:
    """l2·I + Σ_t Mᵀ (Cov w) M, where M = diag(r) W_fd + W_fa (D×D)."""
    likely_S = likely_GS.sum(0)
    words = likely_S.topk(min(LIKELY, len(likely_S))).indices
    columns = problem.candidates.columns
    row_SP = problem.candidates.table_GSP[0, words] * (LOG2 / problem.tau)
    W_SF = row_SP[:, columns.vector]
    b_S = row_SP[:, columns.bias].sum(1)
    W_fd, *additive = problem.effect.W_ED.split(problem.effect.F)
    y_1E = problem.effect(x_1D)
    H_DD = problem.l2 * torch.eye(x_1D.shape[1], dtype=x_1D.dtype, device=x_1D.device)
    for r_F, real in zip(problem.r_GRF.flatten(0, 1), problem.real_GR.flatten(), strict=True):
        if not real:
            continue
        p_S = (W_SF @ problem.effect.apply(y_1E[0], r_F) + b_S).softmax(0)
        M_FD = r_F[:, None] * W_fd + (additive[0] if additive else 0)
        J_SD = W_SF @ M_FD
        J_SD = J_SD - p_S @ J_SD
        H_DD += (J_SD * p_S[:, None]).T @ J_SD
    return H_DD
