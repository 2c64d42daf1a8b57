"""Which precision a processor is fast in."""

from __future__ import annotations

import time
from functools import cache

import torch

SIZE = 256


def has_bf16() -> bool:
    """Whether the processor has instructions for bf16."""
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


@cache
def bf16_pays(device: str = "cpu") -> bool:
    """Whether products of bf16 numbers are faster than of fp32 ones: processors without instructions for them emulate
    them, hundreds of times slower. Measured, in a moment."""
    seconds = {}
    for dtype in (torch.float32, torch.bfloat16):
        a = torch.ones(SIZE, SIZE, dtype=dtype, device=device)
        float((a @ a)[0, 0])  # the first one may have to be prepared
        took = []
        for _ in range(5):
            start = time.perf_counter()
            float((a @ a)[0, 0])
            took.append(time.perf_counter() - start)
        seconds[dtype] = min(took)
    return seconds[torch.bfloat16] < seconds[torch.float32]
