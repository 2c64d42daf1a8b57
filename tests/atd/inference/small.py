"""A small random model and short random texts for it."""

from __future__ import annotations

import numpy as np
import torch

from atd.inference.infer import Frozen
from atd.inference.objective import Problem
from atd.lm import MultiplicativeLM
from atd.ragged import Ragged, offsets_of

V, K, D, F, N, A = 60, 8, 6, 10, 3, 5


def make_model(activation: str = "identity", dtype=torch.float32, **options) -> MultiplicativeLM:
    torch.manual_seed(0)
    model = MultiplicativeLM(V, K, D, F, N, A, activation=activation, **options)
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(0).add_(torch.randn(p.shape) * 0.6)
        model.b.copy_(-torch.arange(V) / 20.0)
    return model.to(dtype)


def make_texts(n: int = 30, seed: int = 1) -> Ragged:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 15, n)
    return Ragged(rng.integers(3, V, lengths.sum()), offsets_of(lengths))


def make_problem(model: MultiplicativeLM, texts: Ragged, prior: torch.Tensor, samples: int | None = None) -> Problem:
    """J of all texts with l2 = 0.3."""
    return Frozen(model, *texts.flat, samples, 0).problem(torch.arange(len(texts)), prior, 0.3)


def naive_objective(model, tokens: torch.Tensor, x: torch.Tensor, prior: torch.Tensor, l2: float) -> torch.Tensor:
    """J of one text the long way: pad, slide, full softmax through the model itself."""
    padded = torch.cat([torch.ones(N, dtype=torch.long), tokens])
    context = padded.unfold(0, N, 1)[: len(tokens)]
    nll = model.nll(context, tokens, x.expand(len(tokens), -1), reduction="sum")
    return nll + 0.5 * l2 * (x - prior).square().sum()
