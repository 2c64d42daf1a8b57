"""Text conditioned on books, mixes of books and unseen texts, with its style measured (section 3, tables 2 and 6)."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from atd.errors import AtdError
from atd.lm import MultiplicativeLM
from tasks.engine.result import Result
from tasks.engine.settings import typed
from tasks.figures.charts import learning_curves
from tasks.generation.settings import FITS, Settings
from tasks.generation.style import measure_inferred, measure_mixes, measure_samples, measure_vectors
from tasks.generation.writer import Writer, show_samples
from tasks.learning.comparison import compare_models, lbl_of
from tasks.learning.corpora import open_corpus
from tasks.learning.evaluation import perplexities
from tasks.learning.inference import options
from tasks.learning.language_model import LanguageModel, optim_of
from tasks.learning.models import Trained, load_for

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from datamodules.corpus import Corpus

__all__ = ["FITS", "Settings", "run"]


def run(cfg: DictConfig, out: Path) -> Result:
    task = typed(Settings, cfg.task)
    data = open_corpus(cfg)
    check_attributes(data)
    if not task.measure:
        return only_write(cfg, task, data)
    inference = options(cfg.inference, cfg.seed)
    result = Result("generation", "atd/perplexity", {}, lower_is_better=True)
    writer = Writer(trained(result, cfg, data, out), data.attributes, task, cfg.seed)
    measure_vectors(result, writer, data.encoded["test"])
    reader = measure_samples(result, writer, data)
    measure_mixes(result, writer, reader)
    measure_inferred(result, writer, reader, data.encoded["test"], inference)
    show_samples(result, writer, data, inference)
    return result


def check_attributes(data: Corpus) -> None:
    """A style is that of a whole text, under one vector."""
    train = data.encoded["train"]
    if train.per_token:
        raise AtdError("data.attribute=pos: task=generation needs one attribute per text; use data.attribute=book")
    if train.attributes.ndim > 1:
        raise AtdError("data.compose=true: task=generation needs one attribute per text; use data.compose=false")


def only_write(cfg: DictConfig, task: Settings, data: Corpus) -> Result:
    """Samples alone, from a checkpoint."""
    if cfg.checkpoint is None:
        raise AtdError("task.measure=false: only writes, so it needs checkpoint=, the run folder of a trained model")
    model = multiplicative(load_for(data, cfg.checkpoint))
    writer = Writer(model, data.attributes, task, cfg.seed)
    result = Result("generation", "atd/words_per_second", {"atd": {}})
    started = time.perf_counter()
    samples = show_samples(result, writer, data, options(cfg.inference, cfg.seed))
    result.rows["atd"]["words_per_second"] = len(samples) * task.words / (time.perf_counter() - started)
    for label, text in samples:
        print(f"\n{label}\n  {text}")
    return result


def trained(result: Result, cfg: DictConfig, data: Corpus, out: Path) -> MultiplicativeLM:
    """The multiplicative model, its perplexity and that of its baselines among the rows; or the checkpoint's model."""
    if cfg.checkpoint is not None:
        model = multiplicative(load_for(data, cfg.checkpoint))
        module = LanguageModel(model, data.vocabularies, data.attributes, optim_of(cfg), config={})
        result.rows["atd"] = perplexities(module, data)
        return model
    models = compare_models(cfg, data, out, {"atd": cfg.model, "lbl": lbl_of(cfg)}, trigram=True)
    result.rows |= models.rows
    result.rows["atd"]["below_lbl"] = 100 * (1 - models.rows["atd"]["perplexity"] / models.rows["lbl"]["perplexity"])
    result.figure("learning_curves", learning_curves(models.curves), "Exact dev perplexity after each epoch.")
    return multiplicative(models.trained("atd"))


def multiplicative(trained: Trained) -> MultiplicativeLM:
    if not isinstance(trained.model, MultiplicativeLM):
        raise AtdError("a model without attributes has no style to write in; train model=atd")
    return trained.model
