"""Products of matrices in single precision on a CPU, at the speed that the processor has.

PyTorch leaves them to MKL, which on AMD's processors works on 8 numbers at once where these have instructions for 16:
at half of the speed. There a kernel in C (`native/product.c`) takes their place; everywhere else, and in every other
precision, PyTorch's own do the work.

G matrices at once, M×N = M×K · K×N.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from atd.native import in_parts, kernel

SMALL = 2**21  # multiplications that one thread makes sooner than two agree who makes which
LENGTHS = ("a_next", "b_next", "c_next", "a_row", "a_step", "b_step", "c_row", "N", "K")


class _Product(ctypes.Structure):
    """As in product.c."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("a", "b", "c")] + [(name, ctypes.c_long) for name in LENGTHS]


def product(a: Tensor, b: Tensor, out: Tensor | None = None, add: bool = False) -> Tensor:
    """a·b (G×M×N), written to `out` where it is given, or with `add` added to it."""
    if own_is_faster(a.dtype, a.device.type):
        out = a.new_empty(*a.shape[:2], b.shape[2]) if out is None else out
        return product_in_c(a, b, out, add)
    if out is not None:
        return torch.baddbmm(out, a, b, out=out) if add else torch.bmm(a, b, out=out)
    if a.stride(1) == 1:  # the side that lies transposed is the large one: let nothing turn it around
        return torch.bmm(b.mT, a.mT).mT
    return torch.bmm(a, b)


class Multiplied(torch.autograd.Function):
    """a·b of two matrices, with gradients."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return product(a[None], b[None])[0]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        (dc,) = gradients
        a, b = ctx.saved_tensors
        return product(dc[None], b.T[None])[0], product(a.T[None], dc[None])[0]


def multiply(a: Tensor, b: Tensor) -> Tensor:
    """a @ b of two matrices that learn."""
    if own_is_faster(a.dtype, a.device.type) and not torch.is_autocast_enabled("cpu"):
        return Multiplied.apply(a, b)
    return a @ b


@cache
def own_is_faster(dtype: torch.dtype, device: str) -> bool:
    wide = torch.backends.cpu.get_cpu_capability() == "AVX512"
    return dtype == torch.float32 and device == "cpu" and wide and _amd() and kernel("product") is not None


def _amd() -> bool:
    about = Path("/proc/cpuinfo")
    return about.is_file() and b"AuthenticAMD" in about.read_bytes()


def product_in_c(a_GMK: Tensor, b_GKN: Tensor, out_GMN: Tensor, add: bool) -> Tensor:
    library = kernel("product")
    assert library is not None
    a_GMK = a_GMK if 1 in a_GMK.stride()[1:] else a_GMK.contiguous()
    b_GKN = b_GKN if b_GKN.stride(2) == 1 else b_GKN.contiguous()
    assert out_GMN.stride(2) == 1
    (G, M, K), N = a_GMK.shape, b_GKN.shape[2]
    a, b, c = a_GMK.stride(), b_GKN.stride(), out_GMN.stride()
    at = [tensor.data_ptr() for tensor in (a_GMK, b_GKN, out_GMN)]
    task = _Product(*at, a[0], b[0], c[0], a[1], a[2], b[1], c[1], N, K)

    def part(first: int, last: int) -> None:
        ranges = (first, last, 0, M) if G > 1 else (0, 1, first, last)
        library.product(task, *map(ctypes.c_long, ranges), ctypes.c_int(add))

    each = max(M * N * K if G > 1 else N * K, 1)
    in_parts(G if G > 1 else M, part, torch.get_num_threads(), least=-(-SMALL // each))
    return out_GMN
