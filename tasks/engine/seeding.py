"""Seeds of single training steps, so that a resumed run makes the same random choices."""

from __future__ import annotations

import torch


def seed_step(seed: int, device: torch.device) -> None:
    """torch.manual_seed for the CPU and one device: that call takes 2 ms, most of them to record where it came from."""
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.manual_seed(seed)
