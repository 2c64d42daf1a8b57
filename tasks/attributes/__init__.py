"""Vectors for the attributes of any corpus: do they matter, what does each column add, what do they look like?"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from atd.errors import AtdError
from atd.given import resolve
from datamodules.summary import describe
from tasks.attributes.effects import show_effects
from tasks.attributes.prediction import show_prediction
from tasks.attributes.settings import FITS, Settings
from tasks.attributes.show import chosen_pair, show_maps, show_neighbours, show_samples
from tasks.attributes.verdict import show_verdict
from tasks.attributes.words import show_distinctive
from tasks.engine.result import Result
from tasks.engine.settings import typed
from tasks.figures.charts import learning_curves
from tasks.learning.comparison import compare_models
from tasks.learning.controls import COUNTS, available, control_models
from tasks.learning.corpora import opened

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from datamodules.corpus import Corpus

__all__ = ["FITS", "Settings", "run"]

LARGE = 1_000_000  # words of training text
USUAL = ("no-attributes", "lbl", "kneser-ney")
OF_A_LARGE_TABLE = ("no-attributes", "kneser-ney")  # without attributes the model is log-bilinear, too
OF_JOINING = ("no-attributes",)  # beside a model that was there before: the others would know the new rows alone


def run(cfg: DictConfig, out: Path) -> Result:
    task = typed(Settings, cfg.task)
    check_controls(cfg, task)
    data = opened(cfg)
    controls = usual_controls(cfg, data) if task.controls is None else list(task.controls)
    check_names(task, data)
    for line in describe(data):
        print(line, flush=True)
    models = compare_models(
        cfg,
        data,
        out,
        {"atd": dict(cfg.model), **control_models(cfg, controls)},
        counts=[name for name in controls if name in COUNTS],
        seeds=task.seeds,
        steps=task.steps,
        workers=task.workers or side_by_side(cfg, data),
    )
    trained = models.trained("atd")
    result = Result("attributes", "atd/perplexity", models.rows, lower_is_better=True)
    adds = show_verdict(result, models, trained, data)
    explain(result, data)
    result.figure("learning_curves", learning_curves(models.curves), "Validation perplexity after each epoch.")
    idle = [name for name, d in adds.items() if d.low <= 0]
    show_maps(result, trained, idle)
    show_distinctive(result, data)
    a, b = chosen_pair(task, trained, idle)
    show_effects(result, trained, data, out)
    show_neighbours(result, trained, data, task.word, a, b)
    show_samples(result, trained, a, b, task, cfg.seed)
    show_prediction(result, trained, data, cfg.seed)
    return result


def check_controls(cfg: DictConfig, task: Settings) -> None:
    for name in task.controls or ():
        if name not in available(cfg):
            raise AtdError(f"task.controls: {name} is a control of model=atd, not of model={cfg.model.name}")


def usual_controls(cfg: DictConfig, data: Corpus) -> list[str]:
    """The rows beside the model where none are chosen, as far as conf/model has them."""
    usual = OF_JOINING if cfg.init_from else OF_A_LARGE_TABLE if is_large(data) else USUAL
    return [name for name in usual if name in available(cfg)]


def is_large(data: Corpus) -> bool:
    return len(data.encoded["train"].tokens) >= LARGE


def side_by_side(cfg: DictConfig, data: Corpus) -> int:
    """How many models to train at once: two if that is worth starting processes for, and nothing forbids it."""
    alone = cfg.logger.name == "wandb" or cfg.trainer.accelerator == "gpu" or cfg.trainer.strategy != "auto"
    return 2 if is_large(data) and not alone and (os.cpu_count() or 1) > 1 else 1


def check_names(task: Settings, data: Corpus) -> None:
    """What the user names must be there, before anything is trained."""
    for key, name in (("a", task.a), ("b", task.b)):
        if name is not None:
            try:
                resolve(name, data.encoded["train"].design)
            except AtdError as error:
                raise AtdError(f"task.{key}={name}: {error}") from None
    if task.word is not None:
        data.vocabulary.id(task.word)


def explain(result: Result, data: Corpus) -> None:
    train = len(data.encoded["train"].tokens)
    result.text(
        "What was done",
        [
            f"One vector was learned for each of {len(data.attributes)} attributes, jointly with the vectors of "
            f"{len(data.vocabulary):,} words, from {train:,} running words. The attribute vector x gates the words: "
            "T_x = W_fvᵀ · diag(1 + W_fd x) · W_fk, or diag(W_fd x) in the paper's model.",
            "Perplexity is exact and on text kept out of training: how many words the model hesitates between.",
        ],
    )
