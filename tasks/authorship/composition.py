"""Tuples never seen in training: x = gender + age + industry vector, against one vector per tuple.

The paper proposes it and does not try it. D attribute dim.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch

from tasks.engine.result import Result
from tasks.learning.comparison import compare_models
from tasks.learning.controls import lbl_of
from tasks.learning.corpora import open_corpus
from tasks.learning.language_model import Perplexity

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from atd.lm import NextWordModel
    from atd.windows import WindowLoader
    from tasks.authorship.settings import Settings


def composition(result: Result, cfg: DictConfig, task: Settings, out: Path) -> None:
    """Exact perplexity on tuples seen and unseen.

    A tuple without a vector takes the mean of all vectors; the log-bilinear model needs none.
    """
    left = {"leave_out": task.leave_out, "posts": task.variant_posts}
    tuples = open_corpus(cfg, **left)
    composed = open_corpus(cfg, compose=True, **left)
    rows: dict[str, dict[str, float]] = {}
    for name, data, config in (
        ("tuples", tuples, cfg.model),
        ("composed", composed, cfg.model),
        ("lbl_left_out", tuples, lbl_of(cfg)),
    ):
        models = compare_models(cfg, data, out, {name: config})
        model = models.trained(name).model
        x_D = model.vectors().mean(0) if name == "tuples" else None
        rows[name] = {
            "perplexity": models.rows[name]["perplexity"],
            "perplexity_unseen": unseen_perplexity(model, data.loader("unseen"), x_D),
        }
    result.rows |= rows
    result.table(
        "Tuples left out of training",
        ["", "seen tuples, held-out posts", "unseen tuples"],
        [[name, row["perplexity"], row["perplexity_unseen"]] for name, row in rows.items()],
        f"Exact perplexity. {task.leave_out} tuples were kept from training. composed: x is the sum of a gender, "
        "an age and an industry vector, so an unseen tuple has one; tuples: an unseen tuple takes the mean vector.",
    )
    result.rows.setdefault("atd", rows["tuples"])


@torch.inference_mode()
def unseen_perplexity(model: NextWordModel, loader: WindowLoader, x_D: torch.Tensor | None) -> float:
    """Exact perplexity under one vector for all texts, or with None under each text's own."""
    metric = Perplexity()
    for batch in loader:
        x = batch.attribute if x_D is None else x_D.expand(len(batch), -1)
        metric.update(model.nll(batch.context, batch.target, x, reduction="none"))
    return float(metric.compute())
