"""Optimisers: the paper's SGD, and row-wise AdaGrad for large tables.

The paper trains with "an exponential learning rate decay and linear (per epoch) increase in momentum".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from ctypes import CDLL, c_float, c_int64

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from atd import native

SMALLEST = 0.01  # root mean square of a matrix, at least, for the limit of a step


class GroupOptimizer(Optimizer):
    """A step that updates one parameter group after the other; subclasses say how."""

    def update(self, group: dict) -> None:
        raise NotImplementedError

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            self.update(group)
        return loss


class PaperSGD(GroupOptimizer):
    """Δ ← pΔ − (1−p)·η·(g + λθ), θ ← θ + Δ. The factor (1−p) keeps the step size when momentum p rises.

    `limit` is ours: η·g is scaled down to at most this share of ‖θ‖, matrix by matrix. The gradient of C grows with the
    square of the word vectors' length, so that a step that learns from short vectors makes long ones diverge; a share
    of the matrix itself is safe for both.

    Of a sparse gradient a row is given its whole step at once, without a limit. It is used so rarely that its momentum,
    which sums up to the same, would have died away before it is used again.
    """

    def __init__(
        self,
        params: Iterable,
        lr: float,
        momentum: float = 0.5,
        weight_decay: float = 0.0,
        limit: float | None = None,
    ):
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "limit": limit})

    def update(self, group: dict) -> None:
        p, eta = group["momentum"], group["lr"]
        params = []
        for theta in group["params"]:
            if theta.grad is None:
                continue
            if theta.grad.is_sparse:
                self._update_rows(theta, group)
            else:
                params.append(theta)
        if not params:
            return
        for theta in params:
            if "delta" not in self.state[theta]:
                self.state[theta]["delta"] = torch.zeros_like(theta)
        deltas = [self.state[theta]["delta"] for theta in params]
        grads = [theta.grad for theta in params]
        if group["weight_decay"]:
            grads = list(torch._foreach_add(grads, params, alpha=group["weight_decay"]))
        if group["limit"]:
            grads = [g * share_of(theta, g, eta, group["limit"]) for theta, g in zip(params, grads, strict=True)]
        torch._foreach_mul_(deltas, p)
        torch._foreach_add_(deltas, grads, alpha=-(1 - p) * eta)
        torch._foreach_add_(params, deltas)

    def _update_rows(self, theta: Tensor, group: dict) -> None:
        assert theta.grad is not None
        rows, g = distinct_rows(theta.grad)
        if group["weight_decay"]:
            g = g + group["weight_decay"] * theta[rows]
        theta.index_add_(0, rows, g, alpha=-group["lr"])


def share_of(theta: Tensor, g: Tensor, eta: float, limit: float) -> Tensor:
    """What is to be left of η·g, at most 1. A matrix that starts at zero counts as one of 0.01·N(0,1)."""
    size = theta.norm().clamp(min=SMALLEST * math.sqrt(theta.numel()))
    return (limit * size / (eta * g.norm()).clamp(min=torch.finfo(g.dtype).tiny)).clamp(max=1.0)


class PaperSchedule(LRScheduler):
    """Once per epoch e: η = η₀·decayᵉ, and p rises linearly from p_i to p_f over the first T epochs."""

    def __init__(self, optimizer: Optimizer, decay: float, p_i: float, p_f: float, T: int):
        self.decay = decay
        self.p_i = p_i
        self.p_f = p_f
        self.T = T
        super().__init__(optimizer)

    def momentum(self, epoch: int) -> float:
        return self.p_i + (self.p_f - self.p_i) * min(epoch / self.T, 1.0)

    def get_lr(self) -> list[float | Tensor]:
        for group in self.optimizer.param_groups:
            group["momentum"] = self.momentum(self.last_epoch)
        return [base * self.decay**self.last_epoch for base in self.base_lrs]


class RowAdaGrad(GroupOptimizer):
    """AdaGrad with one accumulator per row of a table: θ_r ← θ_r − η·g_r / (√Σ mean(g_r²) + ε).

    Sparse gradients touch only their own rows, so a step on a table of a million rows costs what it uses.
    """

    def __init__(self, params: Iterable, lr: float = 0.05, eps: float = 1e-8, weight_decay: float = 0.0):
        super().__init__(params, {"lr": lr, "eps": eps, "weight_decay": weight_decay})

    def update(self, group: dict) -> None:
        for theta in group["params"]:
            if theta.grad is not None:
                self._update(theta, group)

    def _update(self, theta: Tensor, group: dict) -> None:
        state = self.state[theta]
        if "sum" not in state:
            state["sum"] = theta.new_zeros(len(theta))
        sums, g = state["sum"], theta.grad
        assert g is not None
        if g.is_sparse:
            rows, g = distinct_rows(g)
            lib = native.kernel("row_adagrad") if can_be_native(theta, g) else None
            if lib is None:
                move_rows(theta, sums, rows, g, group)
            else:
                move_rows_natively(lib, theta, sums, rows, g, group)
        else:
            g = g + group["weight_decay"] * theta if group["weight_decay"] else g
            sums.add_(row_mean_square(g))
            theta.add_(scaled(g, sums, group["eps"]), alpha=-group["lr"])


def move_rows(theta: Tensor, sums: Tensor, rows: Tensor, g: Tensor, group: dict) -> None:
    g = g + group["weight_decay"] * theta[rows] if group["weight_decay"] else g
    sums.index_add_(0, rows, row_mean_square(g))
    theta.index_add_(0, rows, scaled(g, sums[rows], group["eps"]), alpha=-group["lr"])


def can_be_native(theta: Tensor, g: Tensor) -> bool:
    cpu = theta.device.type == g.device.type == "cpu"
    return cpu and theta.dim() == 2 and theta.dtype == g.dtype == torch.float32 and theta.is_contiguous()


def move_rows_natively(lib: CDLL, theta: Tensor, sums: Tensor, rows: Tensor, g: Tensor, group: dict) -> None:
    """`move_rows` in one pass over the rows: PyTorch makes five, and new memory for each."""
    rows, g = rows.contiguous(), g.contiguous()
    tables = [native.address(each) for each in (theta, sums, rows, g)]
    numbers = [c_float(group[name]) for name in ("lr", "eps", "weight_decay")]

    def work(first: int, last: int) -> None:
        lib.row_adagrad(*tables, c_int64(theta.shape[1]), *numbers, c_int64(first), c_int64(last))

    native.in_parts(len(rows), work, torch.get_num_threads(), least=1024)


def distinct_rows(g: Tensor) -> tuple[Tensor, Tensor]:
    """Row numbers and rows of a sparse gradient, every row once. Autograd forgets that a gradient was coalesced, and
    to sort it again would cost as much as the update itself: look first."""
    rows = g._indices()[0]
    if (rows[1:] > rows[:-1]).all():
        return rows, g._values()
    g = g.coalesce()
    return g.indices()[0], g.values()


def row_mean_square(g: Tensor) -> Tensor:
    return g.square().flatten(1).mean(1) if g.dim() > 1 else g.square()


def scaled(g: Tensor, sums: Tensor, eps: float) -> Tensor:
    return g / (sums.sqrt() + eps).view(-1, *[1] * (g.dim() - 1))


ROLES = {"C": "contexts", "W_fd": "gate", "W_fa": "shift", "L": "attributes", "b": "plain", "c": "plain"}


def parameter_groups(
    model: nn.Module, decay: Mapping[str, float] | None = None, lr: Mapping[str, float] | None = None
) -> list[dict]:
    """A group for every role that parameters have: words, contexts, gate and shift by attributes, attributes, plain.

    `decay` is the weight decay of a role, 0 where it is not named. `lr` is its step size, where it is not the
    optimiser's.
    """
    groups: dict[str, list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            groups.setdefault(ROLES.get(name.rsplit(".", 1)[-1], "words"), []).append(parameter)
    out = []
    for role, parameters in groups.items():
        group = {"params": parameters, "weight_decay": (decay or {}).get(role, 0.0)}
        out.append(group | ({"lr": lr[role]} if lr and role in lr else {}))
    return out


def travel(lr: float, lr_decay: float | str, steps: int, epochs: int) -> float:
    """The sum of all step sizes of a training: how far a weight that is always pushed one way goes with Adam."""
    if lr_decay == "linear":
        return lr * steps / 2
    return lr * steps / epochs * sum(float(lr_decay) ** epoch for epoch in range(epochs))
