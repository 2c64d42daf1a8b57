"""Chance: the seed of a job, and those of single training steps, so that a resumed run makes the same choices."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def seed_all(seed: int) -> None:
    """Python's, NumPy's and PyTorch's generators."""
    import random

    import numpy as np
    import torch

    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def seed_step(seed: int, device: torch.device) -> None:
    """torch.manual_seed for the CPU and one device: that call takes 2 ms, most of them to record where it came from."""
    import torch

    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.manual_seed(seed)
