"""Chance in training, as a function of the seed and the step alone: a resumed run makes the same choices."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def seed_step(seed: int, device: torch.device) -> None:
    """torch.manual_seed for the CPU and one device: that call takes 2 ms, most of them to record where it came from."""
    import torch

    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.manual_seed(seed)


def seeded(seed: int, step: int, device: torch.device, rank: int = 0) -> torch.Generator:
    """Dropout is drawn from the default generators, which are set here, and noise words from the one returned.

    Processes draw the noise words that one would, each those of its part of the batch, and their own dropout.
    """
    import torch

    first = (seed * 1_000_003 + step) * 1024
    seed_step(first + rank, device)
    return torch.Generator().manual_seed(first)
