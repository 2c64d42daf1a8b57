"""Small random models of every kind and short random texts for them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from atd.inference.infer import Frozen
from atd.inference.objective import Problem
from atd.lm import MultiplicativeLM
from atd.open_lm import OpenLM
from atd.ragged import Ragged, offsets_of

V, K, D, F, N, A = 60, 8, 6, 10, 3, 5
KINDS = {  # what x acts by
    "paper": {},
    "paper, additive": {"additive": True},
    "open gate and shift": {"gated": True, "additive": True},
    "open gate": {"gated": True, "additive": False},
    "shift": {"gated": False, "additive": True},
    "nothing": {"gated": False, "additive": False},
}


def make_model(activation: str = "identity", dtype=torch.float32, **options) -> MultiplicativeLM:
    return scattered(lambda: MultiplicativeLM(V, K, D, F, N, A, activation=activation, **options), dtype)


def make_kind(kind: str, dtype=torch.float32) -> MultiplicativeLM:
    """A model of one of the KINDS; all but the paper's have a constant c, and x = 0 for the average text."""
    options = KINDS[kind]
    if "gated" not in options:
        return make_model(dtype=dtype, **options)
    return scattered(lambda: OpenLM(V, K, D, F, N, A, **options), dtype, 0.45)


def scattered(build: Callable[[], MultiplicativeLM], dtype: torch.dtype, spread: float = 0.6) -> MultiplicativeLM:
    """The model with random weights, and words less frequent from first to last."""
    torch.manual_seed(0)
    model = build()
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(0).add_(torch.randn(p.shape) * spread)
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
