"""Words that stand for the whole vocabulary in a sum over it: chosen by their share, weighted by what they stand for.

V vocabulary, S words chosen; B rows of a batch in G groups of R rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

GROUP = 256  # rows of the batch that share their noise words


class Shares:
    """Words in order of falling share q of a distribution, for choosing S of them that stand for all.

    Words so likely that they would be drawn more than once are taken for certain and count once; the others lie one
    behind the other, each as long as its share, and every (S−k)-th part of that line is stuck at the same `offset`.
    So all are distinct and a word comes with probability min(1, c·q): a sum over the vocabulary is estimated without
    bias by Σ weight·value, with far less variance than by S independent draws.
    """

    def __init__(self, q_V: Tensor):
        q_V, self.order_V = q_V.double().sort(descending=True, stable=True)
        self.q_V = q_V / q_V.sum()
        self.end_V = self.q_V.cumsum(0)
        self.certain: dict[int, int] = {}

    def to(self, device: torch.device) -> Shares:
        self.order_V, self.q_V, self.end_V = (t.to(device) for t in (self.order_V, self.q_V, self.end_V))
        return self

    def head(self, samples: int) -> int:
        """k, the number of words taken for certain: the first that leaves every other word a probability below 1."""
        if samples >= len(self.q_V):
            return len(self.q_V)
        if samples not in self.certain:
            k_S = torch.arange(samples, device=self.q_V.device)
            rest_S = 1 - self.end_V[k_S] + self.q_V[k_S]
            fits_S = (samples - k_S) * self.q_V[k_S] < rest_S
            self.certain[samples] = int(fits_S.int().argmax()) if fits_S.any() else samples
        return self.certain[samples]

    def choose(self, samples: int, offset: float | Tensor) -> tuple[Tensor, Tensor]:
        """(ids, log weight) of `samples` words, or of all if they are fewer; `offset` is uniform on [0, 1).

        Several offsets (G) give as many choices (G×samples).
        """
        k, offset = self.head(samples), torch.as_tensor(offset, device=self.end_V.device)[..., None]
        n = min(samples, len(self.q_V)) - k
        before = self.end_V[k - 1] if k else 0.0
        part = (1 - before) / max(n, 1)
        place = torch.searchsorted(self.end_V, before + (torch.arange(n, device=self.end_V.device) + offset) * part)
        place = place.clamp(k, len(self.q_V) - 1)
        certain = self.order_V[:k].expand(*place.shape[:-1], k)
        log_weight = torch.cat([torch.zeros_like(certain, dtype=torch.float64), (part / self.q_V[place]).log()], -1)
        return torch.cat([certain, self.order_V[place]], -1), log_weight.float()


class Noise(nn.Module):
    """What noise words are drawn by: unigram counts raised to `power`.

    A batch is divided into groups of some `GROUP` rows, each with words of its own, at offsets that are themselves at
    equal distances: all groups' words together are near the whole vocabulary. `place` says which rows of a batch this
    process has, (first, number in all), when it is one of several: they draw what one process would.
    """

    def __init__(self, counts: Sequence[int] | Tensor, power: float = 0.75):
        super().__init__()
        self.shares = Shares(torch.as_tensor(counts, dtype=torch.float64).clamp(min=1).pow(power))
        self.place: tuple[int, int] | None = None

    def candidates(
        self, samples: int, B: int, generator: torch.Generator, device: torch.device
    ) -> tuple[Tensor, Tensor, tuple[int, int]]:
        """Words of every group that B rows touch (G×S), distinct in each, the logs of how many words each stands for
        (G×S), and the rows that the first and the last group have besides."""
        first, total = self.place or (0, B)
        groups = max(total // GROUP, 1)
        R = max(-(-total // groups), 1)
        low, high = first // R, max(-(-(first + B) // R), 1)
        start = torch.rand((), dtype=torch.float64, generator=generator, device=generator.device)
        if self.shares.q_V.device != device:
            self.shares.to(device)
        offset_G = (start.to(device) + torch.arange(low, high, device=device) / groups) % 1
        return *self.shares.choose(samples, offset_G), (first - low * R, high * R - first - B)
