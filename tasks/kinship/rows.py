"""The rows of a study of kinship: vectors that are trained, and vectors by counting.

A languages, V units.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import torch

from tasks.engine.rows import Outcome, Row
from tasks.kinship import counting
from tasks.kinship.module import meanings, perplexity
from tasks.learning.corpora import open_corpus
from tasks.learning.language_model import optim_of
from tasks.learning.training import fit

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from datamodules.verses import Verses
    from tasks.engine.groups import Adam
    from tasks.kinship.settings import Settings

MEANING = {
    "atd": "the language's vector in one model of all verses: how it turns meanings into forms",
    "untrained": "the same model as it starts, from principal components of counts",
    "no-attributes": "the same model, all languages alike",
    "shuffled": "the same model, languages dealt to the verses at random",
    "letters": "how often each language uses each n-gram, whatever is said",
    "ngrams": "square roots of the frequencies of letter 1-, 2- and 3-grams",
    "ngrams-reduced": "the same, reduced to as many numbers as the model's vectors have",
    "verse-ngrams": "n-grams counted for every kind of verse, less the language's own mean: no model",
    "verse-ngrams-reduced": "the same, reduced to as many numbers as the model's vectors have",
    "random": "random numbers",
}


def rows_of(cfg: DictConfig, task: Settings, out: Path) -> list[Row]:
    trained = [
        Row(
            name,
            partial(run_model, cfg, task, out, name),
            range(cfg.seed, cfg.seed + (task.seeds if name == "atd" else 1)),
        )
        for name in task.rows
    ]
    return trained + [Row(name, partial(run_counts, cfg, name)) for name in task.counts]


def run_model(cfg: DictConfig, task: Settings, out: Path, name: str, seed: int) -> Outcome:
    data = cast("Verses", open_corpus(cfg))
    data.seed = seed
    data.shuffled = seed if name == "shuffled" else None
    torch.manual_seed(seed)
    module = meanings(data, cfg.model, cast("Adam", optim_of(cfg)), gated=name != "no-attributes")
    curve = []
    if name != "untrained":
        folder = f"{name}-seed{seed}" if name == "atd" and task.seeds > 1 else name
        curve = fit(module, data, cfg, out, folder)
    scores = {"perplexity": perplexity(module, data, "test"), "perplexity_dev": perplexity(module, data, "val")}
    arrays = {} if name == "no-attributes" else {"x": module.model.vectors()}
    return Outcome(scores, arrays, {"curve": curve} if curve else {})


def run_counts(cfg: DictConfig, name: str, seed: int) -> Outcome:
    """Vectors, or for n-grams of verses, of which no vector is kept, their products."""
    data = cast("Verses", open_corpus(cfg))
    if name == "verse-ngrams":
        return Outcome(arrays={"gram": counting.verse_ngrams(data).astype(np.float32)})
    return Outcome(arrays={"x": vectors_of(data, name, cfg.model.D).astype(np.float32)})


def vectors_of(data: Verses, name: str, D: int) -> np.ndarray:
    if name == "random":
        return counting.random(data)
    if name == "verse-ngrams-reduced":
        return counting.reduced(counting.verse_ngrams(data), D)
    x_AV = counting.ngrams(data)
    if name == "ngrams":
        return x_AV
    x_AV -= x_AV.mean(0)
    return counting.reduced(x_AV @ x_AV.T, D)
