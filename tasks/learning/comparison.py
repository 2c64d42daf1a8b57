"""Language models side by side: train each, take its exact perplexities. What several tasks begin with.

S seeds, n documents.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from atd.files import whole
from atd.models import Trained, load
from atd.training import VALIDATION_WORDS
from tasks.engine.rows import Outcome, Row, Store, run_rows, summary
from tasks.learning.checkpoints import BEST, whole_or_none
from tasks.learning.controls import Variant
from tasks.learning.evaluation import document_losses, kneser_ney_losses, perplexities_of, perplexity_of
from tasks.learning.language_model import language_model, optim_of
from tasks.learning.training import fit

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from datamodules.corpus import Corpus
    from tasks.learning.language_model import LanguageModel

Config = Mapping[str, Any]
ORDERS = {"trigram": 3, "kneser-ney": 5, "kneser-ney-attributes": 5}  # rows that count words


@dataclass
class Comparison:
    """Trained models by the name of their row; with several seeds a list each, in the order of the seeds."""

    out: Path
    names: dict[str, list[str]]  # of the checkpoints of every row
    outcomes: dict[str, list[Outcome]]

    @property
    def rows(self) -> dict[str, dict[str, float]]:
        """Of metrics.json."""
        return summary(self.outcomes)

    @property
    def curves(self) -> dict[str, list[dict[str, float]]]:
        """The learning curve of every row's first seed; those of the others lie on it."""
        return {row: self.outcomes[row][0].facts["curve"] for row in self.names}

    def trained(self, row: str, seed: int = 0) -> Trained:
        """The best checkpoint of a row's seed, counted from 0."""
        return load(self.out / "checkpoints" / self.names[row][seed] / "best.ckpt")

    def name_plainly(self, row: str) -> None:
        """Copy the best checkpoint of a row's first seed to the row's own name, where `atd.load` of a run looks."""
        chosen = self.out / "checkpoints" / self.names[row][0] / "best.ckpt"
        plain = self.out / "checkpoints" / row / "best.ckpt"
        if plain != chosen:
            with whole(plain) as part:
                shutil.copyfile(chosen, part)

    def losses(self, row: str) -> np.ndarray:
        """The summed nll of each test document (S×n)."""
        return np.stack([outcome.arrays["test"] for outcome in self.outcomes[row]])


def compare_models(
    cfg: DictConfig,
    data: Corpus,
    out: Path,
    models: Mapping[str, Variant | Config],
    counts: Sequence[str] = (),
    seeds: int = 1,
    steps: Sequence[float] = (),
    workers: int = 1,
) -> Comparison:
    """Train every model (row: what conf/model would say) on a corpus, with `seeds` seeds from `cfg.seed` on.

    `counts` names rows of n-grams. With `steps` every model has a step size of its own: `optim.lr` times the one that
    is best on the validation part with the first seed. The first model is the one that the run folder stands for.
    """
    variants = {name: m if isinstance(m, Variant) else Variant(m) for name, m in models.items()}
    first, *others = range(cfg.seed, cfg.seed + seeds)
    store = Store(out / "rows", bool(cfg.resume))
    tried = {name: [Job(name, v, s, bool(steps), seeds) for s in steps or (1.0,)] for name, v in variants.items()}
    rows = [row_of(cfg, data, out, job, [first]) for jobs in tried.values() for job in jobs]
    rows += [Row(name, partial(count, data, name)) for name in counts]
    found = run_rows(rows, store, workers)
    best = {n: min(jobs, key=lambda j: found[j.row][0].scores["perplexity_dev"]) for n, jobs in tried.items()}
    again = run_rows([row_of(cfg, data, out, job, others) for job in best.values()], store, workers)
    outcomes = {name: [*found[job.row], *again[job.row]] for name, job in best.items()}
    names = {name: [job.checkpoint(seed) for seed in (first, *others)] for name, job in best.items()}
    compared = Comparison(out, names, outcomes | {name: found[name] for name in counts})
    compared.name_plainly(next(iter(variants)))
    return compared


@dataclass(frozen=True)
class Job:
    """A row at one step size."""

    name: str
    variant: Variant
    step: float
    searched: bool  # the step size is one of several
    seeds: int

    @property
    def row(self) -> str:
        return f"{self.name}-x{self.step:g}" if self.searched else self.name

    def checkpoint(self, seed: int) -> str:
        """The folder of its checkpoints."""
        return self.row if self.seeds == 1 else f"{self.row}-seed{seed}"


def row_of(cfg: DictConfig, data: Corpus, out: Path, job: Job, seeds: Sequence[int]) -> Row:
    return Row(job.row, partial(train, cfg, data, out, job), seeds, whole=partial(is_whole, out, job))


def is_whole(out: Path, job: Job, seed: int) -> bool:
    """Whether the trained model can be read."""
    return whole_or_none(out / "checkpoints" / job.checkpoint(seed) / BEST) is not None


def train(cfg: DictConfig, data: Corpus, out: Path, job: Job, seed: int) -> Outcome:
    data.setup("fit")  # in a worker it is not open yet
    optim = optim_of(cfg)
    optim = replace(optim, lr=optim.lr * job.step)
    data = data.with_shuffled(seed) if job.variant.shuffled else data
    module = language_model(job.variant.config, data, cfg, seed, optim)
    job.variant.prepare(module.model)
    curve = fit(module, data, cfg, out, job.checkpoint(seed))
    losses = document_losses(module, data, "test")
    scores = {
        "perplexity": perplexity_of(losses, data, "test"),
        "perplexity_dev": dev_perplexity(module, data, curve),
    }
    return Outcome(scores, {"test": losses}, {"curve": curve, "lr": optim.lr})


def dev_perplexity(module: LanguageModel, data: Corpus, curve: Sequence[Mapping[str, float]]) -> float:
    """Of the weights that were kept, on all of the validation part: known from their epoch unless that saw a sample."""
    if len(data.encoded["val"].tokens) <= VALIDATION_WORDS:
        return min(epoch["val/perplexity"] for epoch in curve)
    return perplexity_of(document_losses(module, data, "val"), data, "val")


def count(data: Corpus, name: str, seed: int) -> Outcome:
    data.setup("fit")
    losses = kneser_ney_losses(data, ORDERS[name], attributes=name.endswith("attributes"))
    found = losses.get(name, losses["kneser-ney"])
    return Outcome(perplexities_of(found, data), found)
