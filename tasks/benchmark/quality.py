"""How good a model is after training: exact held-out perplexity, by the ways of training that are timed."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache

import torch
from torch import Tensor
from torch.nn import functional

from atd.lm import MultiplicativeLM
from atd.noise import Noise
from atd.windows import WindowBatch
from tasks.benchmark.lm import B, D, F, K, step
from tasks.benchmark.measure import Bench
from tasks.benchmark.naive import NaiveLM
from tasks.benchmark.rivals import SampledLoss, chunked_loss, noise_shares, steps_of

EQUAL = 1.03  # perplexities that differ by less count as equal
LENGTHS = (75, 100, 125, 150, 175, 200, 250, 300, 375, 450, 600)  # steps of a training; the shortest good one counts
RATE = 0.003  # step size of Adam where perplexities are compared after equally many steps
RATES = (0.006, 0.012, 0.02)  # of which every way takes its best where times are compared
TUNED_AT = 150  # steps
Take = Callable[[WindowBatch], None]


@cache
def study_of(bench: Bench) -> Study:
    """One for all rows: a training is made once."""
    return Study(bench)


@dataclass
class Study:
    """Held-out perplexity after training in several ways, from one start and on the same batches.

    A way of ours is `exact`, `sampled`, `bf16` or `sampled_bf16`; of the rival `chunks`, an exact softmax, or
    `shared_512`, so many noise words for the whole batch, also with `_bf16`. The step size falls to zero.
    """

    bench: Bench
    found: dict[tuple[str, int, float], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        from tasks.learning.corpora import open_corpus

        self.data = open_corpus(self.bench.cfg, batch_size=B)
        self.counts = torch.from_numpy(self.data.vocabulary.counts)
        self.long = 2 * min(self.bench.size(300, 60), len(self.data.loader("train", True)))

    def equal(self, way: str) -> bool:
        return self.after(way) <= EQUAL * self.after("exact")

    def after(self, way: str, steps: int | None = None, rate: float = RATE) -> float:
        """Exact held-out perplexity."""
        key = way, steps or self.long, rate
        if key not in self.found:
            self.found[key] = self._train(*key)
        return self.found[key]

    def best_rate(self, way: str) -> float:
        return min(RATES, key=lambda rate: self.after(way, min(TUNED_AT, self.long), rate))

    def steps_until(self, way: str, goal: float, most: float = math.inf) -> int | None:
        """Of the shortest training, of at most so many steps, that is good enough; None if none is."""
        lengths = [n for n in LENGTHS if n <= min(self.long, most)]
        if not lengths:
            return None
        rate = self.best_rate(way)
        first = bisect_left(lengths, True, key=lambda n: self.after(way, n, rate) <= goal)
        return lengths[first] if first < len(lengths) else None

    def timed_step(self, way: str) -> Callable[[], None]:
        take = self._trainer(way)[1]
        batches = itertools.cycle(list(itertools.islice(self.data.loader("train", True), 4)))
        return lambda: take(next(batches))

    def _trainer(self, way: str, rate: float = RATE) -> tuple[MultiplicativeLM | NaiveLM, Take, torch.optim.Optimizer]:
        """A model at its start, a function that takes a step, and the optimiser."""
        torch.manual_seed(self.bench.cfg.seed)
        ours = MultiplicativeLM(len(self.counts), K, D, F, self.data.context, len(self.data.attributes))
        ours.to(self.bench.device).start_bias(self.counts)
        if way.startswith(("chunks", "shared_")):
            return self._rival(NaiveLM.like(ours), way, rate)
        noise = Noise(self.counts).to(self.bench.device) if "sampled" in way else None
        optimiser = torch.optim.Adam(ours.parameters(), lr=rate, fused=True)
        return ours, lambda batch: step(ours, optimiser, batch, noise, "bf16" in way), optimiser

    def _rival(self, model: NaiveLM, way: str, rate: float) -> tuple[NaiveLM, Take, torch.optim.Optimizer]:
        name = way.removesuffix("_bf16")
        shares = noise_shares(self.counts).to(self.bench.device)
        loss = chunked_loss(256) if name == "chunks" else SampledLoss(shares, int(name.removeprefix("shared_")))
        optimiser = torch.optim.Adam(model.parameters(), lr=rate, fused=True)

        def take(batch: WindowBatch) -> None:
            steps_of(model, optimiser, iter([batch]), {"loss": loss}, bf16=name != way)["loss"]()

        return model, take, optimiser

    def _train(self, way: str, steps: int, rate: float) -> float:
        model, take, optimiser = self._trainer(way, rate)
        falling = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, steps)
        for batch in itertools.islice(self._batches(), steps):
            take(batch.to(self.bench.device))
            falling.step()
        return self._perplexity(model)

    def _batches(self) -> Iterator[WindowBatch]:
        """Epoch after epoch of the first half of a long training's steps."""
        while True:
            yield from itertools.islice(self.data.loader("train", True), self.long // 2)

    @torch.no_grad()
    def _perplexity(self, model: MultiplicativeLM | NaiveLM) -> float:
        held = (batch.to(self.bench.device) for batch in itertools.islice(self.data.loader("val"), 40))
        return float(torch.cat([nll_of(model, batch) for batch in held]).mean().exp())


def nll_of(model: MultiplicativeLM | NaiveLM, batch: WindowBatch) -> Tensor:
    if isinstance(model, NaiveLM):
        return functional.cross_entropy(model(batch.context, batch.attribute), batch.target, reduction="none")
    return model.nll(batch.context, batch.target, batch.attribute, reduction="none")
