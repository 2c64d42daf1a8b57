"""Noise words: a few words that stand for the whole vocabulary in a sum over it.

The method is *systematic sampling with probabilities proportional to size*. Lay the words on a line, each as long as
its share q of a distribution, and put down a comb with teeth at equal distances: the words that are hit are the sample.
A word of share q is hit with probability c·q, so a value found at it counts 1/(c·q) times, and the weighted sum over
the sample is an unbiased estimate of the sum over the vocabulary. Two refinements:

- A word longer than the distance of the teeth would be hit more than once. Such words are taken for certain, with
  weight 1, and the comb is laid over the rest of the line. All words of a sample are thus distinct.
- The rows of a batch are divided into groups, each with a comb of its own. The combs of one step are shifted against
  each other by equal parts of a tooth, so that together they touch nearly the whole vocabulary.

The variance is far below that of as many independent draws.

V vocabulary, S words chosen; B rows of a batch in G groups of R rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

GROUP = 256  # rows of the batch that share their noise words


class Shares:
    """Words on a line in order of falling share, ready for combs of any number of teeth."""

    def __init__(self, q_V: Tensor):
        q_V, self.order_V = q_V.double().sort(descending=True, stable=True)
        self.q_V = q_V / q_V.sum()
        self.end_V = self.q_V.cumsum(0)  # where each word's piece of the line ends
        self.certain: dict[int, int] = {}

    def to(self, device: torch.device) -> Shares:
        self.order_V = self.order_V.to(device)
        self.q_V = self.q_V.to(device)
        self.end_V = self.end_V.to(device)
        return self

    def head(self, samples: int) -> int:
        """How many words are taken for certain: the fewest that leave every other word a probability below 1."""
        if samples >= len(self.q_V):
            return len(self.q_V)
        if samples not in self.certain:
            k_S = torch.arange(samples, device=self.q_V.device)
            rest_S = 1 - self.end_V[k_S] + self.q_V[k_S]
            fits_S = (samples - k_S) * self.q_V[k_S] < rest_S
            self.certain[samples] = int(fits_S.int().argmax()) if fits_S.any() else samples
        return self.certain[samples]

    def choose(self, samples: int, offset: float | Tensor) -> tuple[Tensor, Tensor]:
        """(ids, log weight) of `samples` words, or of all if they are fewer.

        `offset`, uniform on [0, 1), is where in its gap the first tooth is. Several (G) give as many choices
        (G×samples).
        """
        k = self.head(samples)
        offset = torch.as_tensor(offset, device=self.end_V.device)[..., None]
        teeth = min(samples, len(self.q_V)) - k
        line_start = self.end_V[k - 1] if k else 0.0
        gap = (1 - line_start) / max(teeth, 1)
        tooth = line_start + (torch.arange(teeth, device=self.end_V.device) + offset) * gap
        hit = torch.searchsorted(self.end_V, tooth).clamp(k, len(self.q_V) - 1)
        certain = self.order_V[:k].expand(*hit.shape[:-1], k)
        log_weight = torch.cat([torch.zeros_like(certain, dtype=torch.float64), (gap / self.q_V[hit]).log()], -1)
        return torch.cat([certain, self.order_V[hit]], -1), log_weight.float()


class Noise(nn.Module):
    """The distribution that noise words come from: unigram counts raised to `power`."""

    def __init__(self, counts: Sequence[int] | np.ndarray | Tensor, power: float = 0.75):
        super().__init__()
        self.shares = Shares(torch.as_tensor(counts, dtype=torch.float64).clamp(min=1).pow(power))

    def draw(self, samples: int, generator: torch.Generator, place: tuple[int, int] | None = None) -> NoiseDraw:
        return NoiseDraw(self, samples, generator, place)


@dataclass
class NoiseWords:
    """The noise words of the groups that the rows of a batch touch."""

    ids_GS: Tensor
    log_weight_GS: Tensor  # the log of how many words each stands for
    filling: tuple[int, int]  # rows that the first and the last group have besides those of the batch


@dataclass
class NoiseDraw:
    """The noise words of one step: how many, and the generator that says where the combs lie.

    `place` says which rows of the whole batch this process has, as (the first, number in all). Several processes then
    draw the words that one process would.
    """

    noise: Noise
    samples: int
    generator: torch.Generator
    place: tuple[int, int] | None = None

    def candidates(self, B: int, device: torch.device) -> NoiseWords:
        """The noise words of B rows."""
        shares = self.noise.shares
        if shares.q_V.device != device:
            shares.to(device)
        first, total = self.place or (0, B)
        groups = max(total // GROUP, 1)
        R = max(-(-total // groups), 1)
        low, high = first // R, max(-(-(first + B) // R), 1)
        start = torch.rand((), dtype=torch.float64, generator=self.generator, device=self.generator.device)
        offset_G = (start.to(device) + torch.arange(low, high, device=device) / groups) % 1
        ids_GS, log_weight_GS = shares.choose(self.samples, offset_G)
        return NoiseWords(ids_GS, log_weight_GS, (first - low * R, high * R - first - B))
