"""The limits of the machine, measured, and how near to them our kernels come.

B batch, V vocabulary, F factors, N context, S noise words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from tasks.benchmark import lm
from tasks.benchmark.measure import Bench, alternate

FLOAT = 4  # bytes


@dataclass
class Machine:
    """Best square product and copy bandwidth, on the threads of the run."""

    gflops: float
    gigabytes: float


@dataclass
class Kernel:
    """A kernel by its necessary operations and bytes: each input read once, each output written once."""

    name: str
    flops: float
    bytes: float
    seconds: float

    @property
    def intensity(self) -> float:
        return self.flops / self.bytes

    @property
    def gflops(self) -> float:
        return self.flops / self.seconds / 1e9


def measure(bench: Bench) -> tuple[Machine, list[Kernel]]:
    B, V, F, N = lm.B, lm.V, lm.F, lm.N
    big = torch.randn(2**25, device=bench.device)
    copy = torch.empty_like(big)
    functions = {f"gemm{n}": lm.square(n, bench.device) for n in lm.SQUARES}
    functions |= {"copy": lambda: copy.copy_(big)}
    functions |= {"exact": lm.our_step(bench.device), "sampled": lm.our_step(bench.device, sampled=True)}
    functions |= {"attributes": lm.sparse_step(bench, 1_000_000)}
    optimiser = lm.PaperSGD([torch.zeros(V, F, device=bench.device, requires_grad=True)], lr=0.1, momentum=0.9)
    optimiser.param_groups[0]["params"][0].grad = torch.ones(V, F, device=bench.device)
    functions |= {"momentum": optimiser.step}
    seconds = {name: float(np.median(s)) for name, s in alternate(functions, bench.rounds).items()}
    machine = Machine(
        max(2 * n**3 / seconds[f"gemm{n}"] for n in lm.SQUARES) / 1e9, 2 * FLOAT * len(big) / seconds["copy"] / 1e9
    )
    tables = FLOAT * (V * (F + 1) * 5 + N * F * F * 3)  # values and momentum read and written, gradient read
    sampled = 6.0 * B * (N * F * F + lm.D * F + lm.SAMPLES * F)
    rows = FLOAT * B * F * (N + 1) * 3
    kernels = [
        Kernel("exact step", lm.work(), tables + rows, seconds["exact"]),
        Kernel("sampled step", sampled, tables + rows, seconds["sampled"]),
        Kernel("sampled step, 1 M attributes", sampled, tables + rows, seconds["attributes"]),
        Kernel("momentum update", 4.0 * V * F, 5.0 * FLOAT * V * F, seconds["momentum"]),
    ]
    return machine, kernels
