"""Language models side by side: train each, take its exact perplexities. What several tasks begin with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atd.models import Trained, load
from tasks.engine.rows import Outcome, Row, Store, run_rows, summary
from tasks.learning.evaluation import perplexities, trigram_perplexities
from tasks.learning.language_model import language_model
from tasks.learning.training import fit

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from datamodules.corpus import Corpus

Config = Mapping[str, Any]


@dataclass
class Comparison:
    """Trained models by the name of their row; with several seeds a list each, in the order of the seeds."""

    out: Path
    names: dict[str, list[str]]  # of the checkpoints of every row
    rows: dict[str, dict[str, float]]  # of metrics.json
    curves: dict[str, list[dict[str, float]]]

    def trained(self, row: str, seed: int = 0) -> Trained:
        """The best checkpoint of a row's seed, counted from 0."""
        return load(self.out / "checkpoints" / self.names[row][seed] / "best.ckpt")


def compare_models(
    cfg: DictConfig, data: Corpus, out: Path, models: Mapping[str, Config], trigram: bool = False, seeds: int = 1
) -> Comparison:
    """Train every model (row: what conf/model would say) on a corpus, with `seeds` seeds from `cfg.seed` on."""
    numbers = range(cfg.seed, cfg.seed + seeds)
    rows = [Row(name, partial(train, cfg, data, out, name, config, seeds), numbers) for name, config in models.items()]
    if trigram:
        rows.append(Row("trigram", partial(count, data)))
    outcomes = run_rows(rows, Store(out / "rows", bool(cfg.resume)))
    names = {name: [checkpoint_name(name, seed, seeds) for seed in numbers] for name in models}
    curves = {n: o.facts["curve"] for row in names for n, o in zip(names[row], outcomes[row], strict=True)}
    return Comparison(out, names, summary(outcomes), curves)


def train(cfg: DictConfig, data: Corpus, out: Path, name: str, config: Config, seeds: int, seed: int) -> Outcome:
    module = language_model(config, data, cfg, seed)
    curve = fit(module, data, cfg, out, checkpoint_name(name, seed, seeds))
    return Outcome(perplexities(module, data), facts={"curve": curve})


def count(data: Corpus, seed: int) -> Outcome:
    return Outcome(trigram_perplexities(data))


def checkpoint_name(row: str, seed: int, seeds: int) -> str:
    """The folder of a row's checkpoints."""
    return row if seeds == 1 else f"{row}-seed{seed}"


def lbl_of(cfg: DictConfig) -> dict[str, Any]:
    """The log-bilinear model of the same size as conf/model says."""
    return {"name": "lbl", "K": cfg.model.K, "context": cfg.model.context, "vectors": cfg.model.get("vectors")}
