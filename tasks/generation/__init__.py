"""Text conditioned on books, mixes of books and unseen texts, with its style measured (section 3, tables 2 and 6)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from atd.errors import AtdError
from atd.lm import MultiplicativeLM
from tasks.engine.result import Result
from tasks.engine.settings import typed
from tasks.figures.charts import learning_curves
from tasks.generation.curves import measure_writers
from tasks.generation.judge import Judge, beginnings
from tasks.generation.rivals import rivals
from tasks.generation.settings import FITS, Settings
from tasks.generation.style import measure_inferred, measure_mixes, measure_samples, measure_vectors
from tasks.generation.writer import Writer, show_samples
from tasks.learning.comparison import compare_models
from tasks.learning.controls import COUNTS, lbl_of
from tasks.learning.corpora import open_corpus
from tasks.learning.evaluation import perplexities
from tasks.learning.inference import options
from tasks.learning.language_model import LanguageModel, optim_of
from tasks.learning.models import Trained, load_for

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from atd.encoded import EncodedCorpus
    from datamodules.corpus import Corpus

__all__ = ["FITS", "Settings", "run"]

SPLITS = ("train", "val", "test")


def run(cfg: DictConfig, out: Path) -> Result:
    task = typed(Settings, cfg.task)
    data = open_corpus(cfg)
    check_attributes(data)
    if not task.measure:
        return only_write(cfg, task, data)
    books = measurable(data, task)
    train, val, test = (of_books(data.encoded[split], books) for split in SPLITS)
    inference = options(cfg.inference, cfg.seed)
    result = Result("generation", "atd/perplexity", {}, lower_is_better=True)
    writer = writer_of(trained(result, cfg, data, out), data, books, task, cfg.seed)
    measure_vectors(result, writer, test)
    V, A = len(data.vocabulary), len(books)
    judge = Judge(V, A, val, test)
    measure_writers(result, writer, rivals(V, A, train, val, task.words, cfg.seed), judge, train, task.temperatures)
    measure_samples(result, writer, judge)
    measure_mixes(result, writer, judge)
    measure_inferred(result, writer, judge, test, inference)
    show_samples(result, writer, data, inference)
    result.verdict = verdict(result.rows)
    return result


def verdict(rows: Mapping[str, Mapping[str, float]]) -> str:
    """How well text is predicted, and how often samples are taken for what they were asked to be."""
    own, style = rows["atd"], {name: rows[name]["style_accuracy"] for name in ("atd", "real text", "chance")}
    less = f", {own['below_lbl']:.0f} % below a model that knows no attributes" if "below_lbl" in own else ""
    return (
        f"Held-out text has perplexity {own['perplexity']:.1f}{less}. Of samples {style['atd']:.1f} % are taken for "
        f"what they were asked to be, of real text {style['real text']:.1f} % (chance: {style['chance']:.1f} %)."
    )


def writer_of(model: MultiplicativeLM, data: Corpus, books: np.ndarray, task: Settings, seed: int) -> Writer:
    names = [data.attributes[a] for a in books]
    return Writer(model, model.vectors().detach()[torch.from_numpy(books)], names, task, seed)


def measurable(data: Corpus, task: Settings) -> np.ndarray:
    """The attributes with a whole piece of training text and of held-out text, at most `task.books`, in their order."""
    there = [data.encoded[split] for split in SPLITS]
    found = [texts.attributes[texts.owner[beginnings(texts, task.words)]] for texts in there]
    held_out = np.union1d(found[1], found[2])
    if len(books := np.intersect1d(found[0], held_out)) < 2:
        few = "fewer than two attributes have so many words of training and of held-out text in one piece"
        raise AtdError(f"task.words={task.words}: {few}; use fewer")
    return largest(data, books, task.books)


def largest(data: Corpus, books: np.ndarray, most: int) -> np.ndarray:
    """Those of the attributes with most training text, at most so many, in their order."""
    train = data.encoded["train"]
    words = np.bincount(train.attributes, train.lengths, len(data.attributes))[books]
    return np.sort(books[np.argsort(-words, kind="stable")[:most]])


def of_books(texts: EncodedCorpus, books: np.ndarray) -> EncodedCorpus:
    """The texts of some attributes, these numbered from 0."""
    kept = texts.take(np.isin(texts.attributes, books))
    return replace(kept, attributes=np.searchsorted(books, kept.attributes))


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
    books = largest(data, np.arange(len(data.attributes)), task.books)
    writer = writer_of(model, data, books, task, cfg.seed)
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
        module = LanguageModel(model, data.vocabularies, data.encoded["train"].design, optim_of(cfg), config={})
        result.rows["atd"] = perplexities(module, data)
        return model
    models = compare_models(cfg, data, out, {"atd": cfg.model, "lbl": lbl_of(cfg)}, counts=COUNTS)
    result.rows |= models.rows
    result.rows["atd"]["below_lbl"] = 100 * (1 - models.rows["atd"]["perplexity"] / models.rows["lbl"]["perplexity"])
    result.figure("learning_curves", learning_curves(models.curves), "Exact dev perplexity after each epoch.")
    return multiplicative(models.trained("atd"))


def multiplicative(trained: Trained) -> MultiplicativeLM:
    if not isinstance(trained.model, MultiplicativeLM):
        raise AtdError("a model without attributes has no style to write in; train model=atd")
    return trained.model
