"""The rows beside a model with attributes: the simplest things that could have produced its number.

S seeds, n documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from atd.lm import MultiplicativeLM, NextWordModel

if TYPE_CHECKING:
    from omegaconf import DictConfig

ROUNDS = 2000  # of the bootstrap
DEVIATION = 0.3  # of a random gate from 1

MEANING = {
    "no-attributes": "the same model with x = 0, which is log-bilinear",
    "shuffled": "the same model, attributes dealt to the texts at random",
    "random-gate": "a random, fixed gate per attribute; only the words learn",
    "additive": "no gate: attributes only add to the factors",
    "gate": "nothing added: attributes only gate",
    "lbl": "the log-bilinear model of the same size, no attributes",
    "kneser-ney": "a modified Kneser–Ney 5-gram of all text",
    "kneser-ney-attributes": "the same, mixed with one of each attribute's own text",
}
COUNTS = ("kneser-ney", "kneser-ney-attributes")
OF_THE_OPEN_GATE = ("no-attributes", "random-gate", "additive", "gate")


@dataclass(frozen=True)
class Variant:
    """A model to train: what conf/model would say of it, and whether its attributes mean anything."""

    config: Mapping[str, Any]
    shuffled: bool = False  # attributes are dealt to the texts at random
    random_gate: bool = False

    @torch.no_grad()
    def prepare(self, model: NextWordModel) -> None:
        """Change a model that is about to learn."""
        if not self.random_gate:
            return
        assert isinstance(model, MultiplicativeLM)
        D = model.W_fd.shape[1]
        model.L.normal_().requires_grad_(False)
        model.W_fd.normal_(std=DEVIATION * D**-0.5).requires_grad_(False)


def available(cfg: DictConfig) -> list[str]:
    """The controls that conf/model has."""
    return [name for name in MEANING if cfg.model.name == "atd" or name not in OF_THE_OPEN_GATE]


def control_models(cfg: DictConfig, names: list[str]) -> dict[str, Variant]:
    """The controls among these names that are trained."""
    model = dict(cfg.model)
    every = {
        "no-attributes": Variant({**model, "gated": False, "additive": False}),
        "shuffled": Variant(model, shuffled=True),
        "random-gate": Variant({**model, "gated": True, "additive": False}, random_gate=True),
        "additive": Variant({**model, "gated": False}),
        "gate": Variant({**model, "additive": False}),
        "lbl": Variant(lbl_of(cfg)),
    }
    return {name: every[name] for name in names if name in every}


def lbl_of(cfg: DictConfig) -> dict[str, Any]:
    """The log-bilinear model of the same size as conf/model says."""
    model = cfg.model
    return {
        "name": "lbl",
        "K": model.K,
        "context": model.context,
        "dropout": model.get("dropout", 0.0),
        "vectors": model.get("vectors"),
    }


@dataclass(frozen=True)
class Difference:
    """By how many per cent one perplexity lies above another, with a 95 % interval."""

    percent: float
    low: float
    high: float

    @property
    def certain(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0 or self.high < 0


def paired_difference(
    losses_Sn: np.ndarray, reference_Sn: np.ndarray, words_n: np.ndarray, group_n: np.ndarray | None = None
) -> Difference:
    """How far perplexity lies above the reference's on the same documents.

    The interval is a bootstrap over documents, or over groups of them, and, independently, over the seeds of both.
    """
    if group_n is not None:
        losses_Sn, reference_Sn, words_n = (summed(values, group_n) for values in (losses_Sn, reference_Sn, words_n))
    random = np.random.default_rng(0)
    n = len(words_n)

    def percent(a_n: np.ndarray, b_n: np.ndarray, times_n: np.ndarray) -> float:
        return 100 * float(np.expm1((times_n * (a_n - b_n)).sum() / (times_n * words_n).sum()))

    drawn = np.empty(ROUNDS)
    for i in range(ROUNDS):
        times_n = np.bincount(random.integers(0, n, n), minlength=n)
        a_n = losses_Sn[random.integers(0, len(losses_Sn), len(losses_Sn))].mean(0)
        b_n = reference_Sn[random.integers(0, len(reference_Sn), len(reference_Sn))].mean(0)
        drawn[i] = percent(a_n, b_n, times_n)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Difference(percent(losses_Sn.mean(0), reference_Sn.mean(0), np.ones(n)), float(low), float(high))


def summed(values: np.ndarray, group_n: np.ndarray) -> np.ndarray:
    """Sums over groups, along the last axis."""
    _, place = np.unique(group_n, return_inverse=True)
    flat = [np.bincount(place, row) for row in values.reshape(-1, values.shape[-1])]
    return np.stack(flat).reshape(*values.shape[:-1], -1)
