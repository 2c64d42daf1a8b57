"""Projected L-BFGS on many texts at once, each with its own curvature and its own step length.

Each step goes along the *two-loop recursion*, a quasi-Newton direction from the last few pairs (s, y) of steps and
changes of the gradient, around the typical inverse Hessian (`preconditioner`). Two things differ from the textbook:

- Under x ≥ 0 the recursion acts on the free coordinates only, and those at 0, or about to be, go to 0 (Bertsekas'
  *two-metric projection*). A projected quasi-Newton step on all coordinates together may climb.
- J is compared only as far as rounding allows. Near the optimum the *approximate Wolfe condition of Hager and Zhang*
  takes over, which looks at slopes instead of J: single precision then reaches gradients that J itself cannot resolve.

n texts, D attribute dim.
"""

from __future__ import annotations

import torch
from torch import Tensor

from atd.inference.objective import Problem
from atd.inference.point import Inferred, Point

MEMORY = 8  # pairs (s, y)
DROP = 0.5  # where texts have words of their own, those that are done are left out when so few are not: it means a copy
NEAR = 1e-2  # a coordinate this near to 0, at most, counts as about to be 0
PATIENCE = 5  # iterations in which a text does not move; rounding may differ when fewer texts are left
HALVINGS = 20  # of a step, at most
DECREASE = 1e-4  # share of the decrease promised by the slope that J must show (Armijo)
TURN = 0.8  # share of the slope at the start that the slope at the end may have upwards (Hager and Zhang)

History = list[tuple[Tensor, Tensor]]


def minimise(problem: Problem, x_nD: Tensor, limit_n: Tensor, iterations: int | Tensor) -> Inferred:
    """From x until the norm of the pull is below the limit, or for so many iterations, a number for each text (n).

    A text that does not move for a while, though what was known of its curvature has been forgotten, is left there.
    """
    point = problem.evaluate(x_nD)
    result = Inferred.at(x_nD)
    work = problem
    live = torch.arange(len(x_nD), device=x_nD.device)  # the texts that `work` and `point` are about
    most_n = torch.as_tensor(iterations, device=x_nD.device).expand(len(x_nD))
    stuck = torch.zeros_like(live)  # for how many iterations
    history: History = []
    step = 0
    while True:
        norm = work.pull(point).norm(dim=1)
        done = norm <= limit_n[live]
        result.write(live, Inferred.of(point, torch.full_like(live, step), done, norm))
        ended = done | (step >= most_n[live]) | (stuck > PATIENCE)
        keep = (~ended).nonzero()[:, 0]
        if len(keep) == 0:
            return result
        if len(keep) <= (1 if work.candidates.shared else DROP) * len(live):
            live = live[keep]
            work = work.select(keep)
            point = point.select(keep)
            ended = ended[keep]
            stuck = stuck[keep]
            history = [(s[keep], y[keep]) for s, y in history]
        d = _direction(work, point, history).masked_fill(ended[:, None], 0)
        new, moved = line_search(work, point, d)
        history = [*history, (new.x_nD - point.x_nD, new.g_nD - point.g_nD)][-MEMORY:]
        if not moved.all():  # no decrease left in single precision: forget the curvature of those texts
            history = [(s * moved[:, None], y) for s, y in history]
        stuck = (stuck + 1) * ~(moved | ended)
        point = new
        step += 1


def _direction(problem: Problem, point: Point, history: History) -> Tensor:
    """The step to try (n×D): quasi-Newton on the free coordinates, straight to 0 on the bound ones."""
    bound = _bound(problem, point)
    return torch.where(bound, -point.x_nD, _two_loops(problem, point.g_nD, ~bound, history))


def _bound(problem: Problem, point: Point) -> Tensor:
    """Coordinates at 0, or about to be (n×D)."""
    if not problem.positive:
        return torch.zeros_like(point.x_nD, dtype=torch.bool)
    near = problem.pull(point).norm(dim=1, keepdim=True).clamp(max=NEAR)
    return (point.x_nD <= near) & (point.g_nD > 0)


def _two_loops(problem: Problem, g: Tensor, free: Tensor, history: History) -> Tensor:
    """The two-loop recursion around the preconditioner, with the pairs (s, y) cut to the free coordinates.

    Where it would climb the direction is −∇J.
    """
    q = g * free
    stack: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []
    scale: Tensor | float = 1.0
    for s, y in reversed(history):
        s = s * free
        y = y * free
        sy = (s * y).sum(1)
        good = sy > 0.5 * problem.l2 * s.square().sum(1)  # a smaller curvature than the L2 term's is rounding
        rho = torch.where(good, 1 / sy.where(good, torch.ones_like(sy)), 0.0)[:, None]
        alpha = rho * (s * q).sum(1, keepdim=True)
        q = q - alpha * y
        if not stack:  # how the newest pair's curvature compares with the typical one
            typical = (y * problem.precondition(y)).sum(1).clamp(min=1e-30)
            scale = torch.where(good, sy / typical, 1.0)[:, None]
        stack.append((s, y, rho, alpha))
    q = problem.precondition(q) * free * scale
    for s, y, rho, alpha in reversed(stack):
        q = q + s * (alpha - rho * (y * q).sum(1, keepdim=True))
    d = -q * free
    climbs = (d * g).sum(1, keepdim=True) >= 0
    downhill = -g * free / torch.clamp(g.norm(dim=1, keepdim=True), min=problem.l2)
    return torch.where(climbs, downhill, d)


def line_search(problem: Problem, start: Point, d: Tensor) -> tuple[Point, Tensor]:
    """The point that the step leads to, and whether each text moved (n).

    Each text's step is halved until J falls enough (Armijo along the projected path). Where the change of J drowns in
    rounding the slopes decide: a convex function whose slope has not turned as steep upwards as it was downwards has
    not risen.
    """
    blur = problem.blur(start.x_nD)
    out = start.copy()
    moved = torch.zeros(len(d), dtype=torch.bool, device=d.device)
    rows = torch.arange(len(d), device=d.device)  # the texts still searching
    work = problem
    step = 1.0
    for _ in range(HALVINGS):
        trial = work.evaluate(work.project(start.x_nD[rows] + step * d[rows]))
        change = trial.x_nD - start.x_nD[rows]
        slope = (start.g_nD[rows] * change).sum(1)
        new_slope = (trial.g_nD * change).sum(1)
        J = start.J_n[rows]
        falls = trial.J_n <= J + DECREASE * slope - blur[rows]
        level = (trial.J_n <= J + blur[rows]) & (new_slope <= -TURN * slope)
        ok = falls | level
        good = ok.nonzero()[:, 0]
        out.write(rows[good], trial.select(good))
        moved[rows[good]] = True
        if len(good) == len(rows):
            break
        bad = (~ok).nonzero()[:, 0]
        rows = rows[bad]
        work = work.select(bad)
        step /= 2
    return out, moved
