"""Text conditioned on books, mixes of books and unseen texts, with its style measured (section 3, tables 2 and 6).

B samples, A books, D attribute dim, T words of a sample.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from atd.errors import AtdError
from atd.expression import parse
from atd.generate import generate
from atd.inference.infer import infer
from atd.vocabulary import BOS_ID
from tasks.engine.result import Result
from tasks.figures.charts import learning_curves
from tasks.generation.settings import FITS, Settings
from tasks.generation.style import (
    FORBID,
    measure_inferred,
    measure_mixes,
    measure_samples,
    measure_vectors,
    shown_pair,
)
from tasks.learning.corpora import open_corpus
from tasks.learning.evaluation import held_out, perplexity, trigram_perplexities
from tasks.learning.inference import options
from tasks.learning.language_model import language_model, lbl_of
from tasks.learning.models import Trained, load
from tasks.learning.training import fit

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from atd.lm import MultiplicativeLM
    from datamodules.corpus import Corpus

__all__ = ["FITS", "Settings", "run"]


def run(cfg: DictConfig, out: Path) -> Result:
    data = open_corpus(cfg)
    if not cfg.task.measure:
        return write(cfg, data)
    model, rows, curves = trained(cfg, data, out)
    result = Result("generation", "atd/perplexity", rows, lower_is_better=True)
    if curves:
        result.figure("learning_curves", learning_curves(curves), "Exact dev perplexity after each epoch.")
    context, target, book = windows(data)
    x_AD = model.vectors().detach()
    measure_vectors(result, model, data.attributes, context, target, book, x_AD, cfg)
    reader = measure_samples(result, model, data, x_AD, cfg)
    measure_mixes(result, model, data.attributes, reader, x_AD, cfg)
    measure_inferred(result, model, data, reader, x_AD, cfg)
    show_samples(result, model, data, x_AD, cfg)
    return result


def write(cfg: DictConfig, data: Corpus) -> Result:
    """Samples alone, from a checkpoint."""
    if cfg.checkpoint is None:
        raise AtdError("task.measure=false: only writes, so it needs checkpoint=, the run folder of a trained model")
    model = checked(cfg, data).model
    result = Result("generation", "atd/words_per_second", {"atd": {}})
    started = time.perf_counter()
    show_samples(result, model, data, model.vectors().detach(), cfg)
    samples = result.sections[-1].samples
    result.rows["atd"]["words_per_second"] = len(samples) * cfg.task.words / (time.perf_counter() - started)
    for label, text in samples:
        print(f"\n{label}\n  {text}")
    return result


def checked(cfg: DictConfig, data: Corpus) -> Trained:
    """The checkpoint, if it knows this corpus."""
    saved = load(cfg.checkpoint)
    if saved.attributes != list(data.attributes) or saved.vocabulary != data.vocabulary:
        raise AtdError(f"checkpoint={cfg.checkpoint}: trained on another corpus than data={cfg.data.name}")
    return saved


def trained(cfg: DictConfig, data: Corpus, out: Path) -> tuple[MultiplicativeLM, dict, dict]:
    """The multiplicative model, with the perplexities of it and its baselines; or the checkpoint's model."""
    if cfg.checkpoint is not None:
        saved = checked(cfg, data)
        module = language_model(saved.config, data, cfg)
        module.model = saved.model
        return saved.model, {"atd": perplexities(module, data)}, {}
    modules, curves, rows = {}, {}, {}
    for name, config in {"atd": dict(cfg.model), "lbl": lbl_of(cfg)}.items():
        modules[name] = language_model(config, data, cfg)
        curves[name] = fit(modules[name], data, cfg, out, name)
        rows[name] = perplexities(modules[name], data)
    trigram = trigram_perplexities(data)
    rows["trigram"] = {"perplexity": trigram["test"], "perplexity_dev": trigram["val"]}
    rows["atd"]["below_lbl"] = 100 * (1 - rows["atd"]["perplexity"] / rows["lbl"]["perplexity"])
    return modules["atd"].model.eval(), rows, curves


def perplexities(module, data: Corpus) -> dict[str, float]:
    exact = {split: perplexity(module, loader) for split, loader in held_out(data).items()}
    return {"perplexity": exact["test"], "perplexity_dev": exact["val"]}


def windows(data: Corpus) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """All held-out windows: contexts, targets, books."""
    batches = list(data.test_dataloader())
    context, target, book = (torch.cat([getattr(b, n) for b in batches]) for n in ("context", "target", "attribute"))
    return context, target, book


def show_samples(result: Result, model, data: Corpus, x_AD: torch.Tensor, cfg: DictConfig) -> None:
    """Text under every book's vector, under the paper's mix, and under what the user asked for."""
    names = list(data.attributes)
    a, b = shown_pair(names)
    mixes = list(cfg.task.mix) or [*names, f"0.5*{names[a]} + 0.5*{names[b]}"]
    start = data.tokens(cfg.task.start) or [BOS_ID]
    vectors = [(mix, parse(mix, names) @ x_AD) for mix in mixes]
    if cfg.task.like is not None:
        vectors.append((f"like {cfg.task.like}", vector_of_file(model, data, Path(cfg.task.like), cfg)))
    ids = generate(
        model,
        torch.stack([x for _, x in vectors]),
        start,
        cfg.task.words,
        generator=torch.Generator().manual_seed(cfg.seed),
        temperature=cfg.task.temperature,
        top_k=cfg.task.top_k,
        top_p=cfg.task.top_p,
        forbid=FORBID,
    )
    texts = [" ".join([cfg.task.start, *data.vocabulary.decode(row)]).strip() for row in ids]
    result.text("Samples", ["<#> stands for a number."], list(zip([m for m, _ in vectors], texts, strict=True)))


def vector_of_file(model, data: Corpus, path: Path, cfg: DictConfig) -> torch.Tensor:
    """The inferred vector of a text file."""
    try:
        ids = data.tokens(path.read_text(encoding="utf-8", errors="replace"))
    except OSError as error:
        raise AtdError(f"task.like={path}: not readable ({error.strerror}); give a text file") from None
    tokens = torch.as_tensor(ids)
    return infer(model, tokens, torch.tensor([0, len(tokens)]), **options(cfg.inference, cfg.seed)).x[0]
