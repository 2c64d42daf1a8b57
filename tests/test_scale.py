"""The formulas of docs/scale.md against this machine at three sizes.

`pytest -m "" tests/test_scale.py -s` prints them; times are asserted only there, since a busy machine misleads.
"""

from __future__ import annotations

import time
from dataclasses import astuple
from functools import cache
from itertools import accumulate

import pytest
import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from atd import products
from atd.cost import Rates, Step
from atd.lm import MultiplicativeLM
from atd.noise import Noise
from atd.optim import RowAdaGrad, parameter_groups

SIZES = {
    "a novel, exact": Step(V=5_000, K=64, F=64, D=16, N=5, A=1_000, B=1_024),
    "books, exact": Step(V=20_000, K=100, F=100, D=50, N=5, A=20_000, B=2_048),
    "blogs, sampled, many authors": Step(
        V=60_000, K=100, F=200, D=50, N=8, A=1_000_000, B=4_096, S=1_000, sparse=True, optimiser="adagrad"
    ),
}


IN_PLACE = {torch.ops.aten.addmm_: lambda c, a, b, **_: 2 * a[0] * a[1] * b[1]}  # a product torch does not count


@pytest.fixture(scope="module", autouse=True)
def products_that_torch_counts():
    """Those of our own kernel are none to it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "own_is_faster", lambda dtype, device: False)
        yield


class Machine:
    """A model of that size, its optimiser and one batch."""

    def __init__(self, s: Step):
        torch.manual_seed(0)
        self.s = s
        self.model = MultiplicativeLM(s.V, s.K, s.D, s.F, s.N, s.A, sparse=s.sparse)
        groups = parameter_groups(self.model)
        adam = s.optimiser == "adam"
        self.optimiser = torch.optim.Adam(groups, lr=1e-4, fused=True) if adam else RowAdaGrad(groups, lr=1e-4)
        self.noise = Noise(torch.arange(s.V, 0, -1))
        self.batch = torch.randint(s.V, (s.B, s.N)), torch.randint(s.V, (s.B,)), torch.randint(s.A, (s.B,))

    def loss(self) -> torch.Tensor:
        context, target, attribute = self.batch
        if not self.s.S:
            return self.model.nll(context, target, attribute)
        generator = torch.Generator().manual_seed(1)
        return self.model.sampled_nll(context, target, self.noise.draw(self.s.S, generator), attribute)

    def step(self) -> None:
        self.optimiser.zero_grad()
        self.loss().backward()
        self.optimiser.step()


def seconds(function, times: int = 3) -> float:
    """The best of some, after one to warm up. Processor time: on a busy machine the clock also counts the others."""
    function()
    best = float("inf")
    for _ in range(times):
        since = time.process_time()
        function()
        best = min(best, time.process_time() - since)
    return best


def three_products(m: int, k: int, n: int) -> float:
    """Operations per second in a product m×k by k×n and its backward pass."""
    x, w, g = torch.randn(m, k), torch.randn(k, n), torch.randn(m, n)
    dx, dw = torch.empty(m, k), torch.empty(k, n)
    forward = seconds(lambda: torch.mm(x, w, out=g))
    backward = seconds(lambda: torch.mm(g, w.T, out=dx)) + seconds(lambda: torch.mm(x.T, g, out=dw))
    return 6 * m * k * n / (forward + backward)


def rates(s: Step) -> Rates:
    """This machine, now: what a step consists of, each timed by itself at the step's own sizes."""
    rows, n = min(s.B, max(128, s.logits() // s.candidates)), 2**23
    a, b, logits = torch.randn(n), torch.empty(n), torch.zeros(rows, s.candidates)
    return Rates(
        softmax=three_products(rows, s.P, s.candidates),
        context=three_products(s.B, s.N * s.F, s.F) if s.folded else three_products(s.B * s.N, s.F, s.K),
        copy=2 * a.nbytes / seconds(lambda: b.copy_(a)),
        fresh=4 * s.V * s.F / seconds(lambda: torch.empty(s.V * s.F).fill_(0.0)),
        exponentials=logits.numel() / seconds(lambda: logits.zero_().exp_()),
    )


def peak_bytes(machine: Machine) -> int:
    """Weights and optimiser states, and the most that a step allocates beside them."""
    machine.optimiser.zero_grad()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        machine.step()
    events = (e for e in recorded.profiler.kineto_results.events() if e.name() == "[memory]")
    sizes = [size for _, size in sorted((e.start_ns(), e.nbytes()) for e in events)]
    states = [value for state in machine.optimiser.state.values() for value in state.values()]
    return sum(t.nbytes for t in [*machine.model.parameters(), *states]) + max(accumulate(sizes))


@cache
def counted(name: str) -> dict[str, tuple[float, float]]:
    """(predicted, measured) of what a step computes and holds."""
    machine = Machine(s := SIZES[name])
    machine.step()  # the optimiser's state exists from here on
    machine.optimiser.zero_grad()
    with FlopCounterMode(display=False, custom_mapping=IN_PLACE) as counter:
        machine.loss().backward()
    return {
        "GFLOP": (sum(s.flops().values()) / 1e9, counter.get_total_flops() / 1e9),
        "MB": (sum(s.memory().values()) / 1e6, peak_bytes(machine) / 1e6),
    }


@cache
def timed(name: str) -> dict[str, tuple[float, float]]:
    """(predicted, measured) of the time of a step; takes many of them."""
    machine = Machine(s := SIZES[name])
    machine.step()
    took, best = float("inf"), rates(s)
    for _ in range(4):  # in turn: the cost of new pages changes with what else the machine does
        took = min(took, seconds(machine.step, 1))
        best = Rates(*map(max, astuple(best), astuple(rates(s))))
    return {"ms": (s.seconds(best) * 1e3, took * 1e3)}


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("quantity", ["GFLOP", "MB", pytest.param("ms", marks=pytest.mark.slow)])
def test_predictions_hold_within_a_quarter(name, quantity):
    torch.set_num_threads(1)
    predicted, measured = (timed if quantity == "ms" else counted)(name)[quantity]
    print(f"\n{name:30} {quantity} {predicted:.3g} / {measured:.3g} ({predicted / measured:.2f})", end="")
    assert predicted == pytest.approx(measured, rel=0.25)


def test_messages_do_not_grow_with_the_number_of_attributes():
    small, large = (Step(V=20_000, K=100, F=100, D=50, N=5, A=A, B=512).messages(8) for A in (10_000, 10_000_000))
    assert small == large and 0 < small["attribute rows"] < small["all-reduce"]
    few = Step(V=20_000, K=100, F=100, D=50, N=5, A=18, B=512).messages(8)
    assert few["attribute rows"] == 0
