"""Chance: the seed of a job. Those of single training steps are the library's."""

from __future__ import annotations

from atd.seeding import seed_step as seed_step


def seed_all(seed: int) -> None:
    """Python's, NumPy's and PyTorch's generators."""
    import random

    import numpy as np
    import torch

    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
