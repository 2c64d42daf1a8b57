"""What the rows of the sentiment table share: the data, an outcome and its file, the classifier, the language model."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from hydra.utils import instantiate

from atd.attributes import average_words
from datamodules.parses import Parses, cut, load_parses
from datamodules.trees import Texts
from tasks.sentiment.scores import classify

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from tasks.learning.language_model import LanguageModel


@dataclass
class Outcome:
    """`logp[split]` (n×5) for dev and test; `x[split]` the vectors behind them; settings and curves for the report."""

    logp: dict[str, np.ndarray]
    x: dict[str, np.ndarray] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    curve: list[dict[str, float]] = field(default_factory=list)


def save(path: Path, outcome: Outcome) -> None:
    """Plain arrays and JSON, written whole or not at all."""
    arrays = {f"{kind}_{s}": a for kind in ("logp", "x") for s, a in getattr(outcome, kind).items()}
    temporary = path.with_suffix(".tmp.npz")
    np.savez_compressed(temporary, facts=json.dumps([outcome.facts, outcome.curve]), **arrays)
    os.replace(temporary, path)


def load(path: Path) -> Outcome:
    with np.load(path, allow_pickle=False) as file:
        parts: dict[str, dict[str, np.ndarray]] = {"logp": {}, "x": {}}
        for name in file.files:
            kind, _, split = name.partition("_")
            if kind in parts:
                parts[kind][split] = file[name]
        facts, curve = json.loads(str(file["facts"]))
    return Outcome(parts["logp"], parts["x"], facts, curve)


@cache
def bank_of(data: Path, vectors: str | None, K: int, sentences: int | None) -> Parses:
    bank = load_parses(data, vectors, K)
    return bank if sentences is None else cut(bank, sentences, sentences // 4)


@dataclass
class Study:
    cfg: DictConfig
    out: Path

    @cached_property
    def bank(self) -> Parses:
        """The corpus that conf/data names; the sample does without a file of vectors when there is none."""
        corpus = instantiate(self.cfg.data)
        corpus.inputs()  # finds the files, or downloads or generates them
        vectors, K = self.cfg.model.vectors, self.cfg.model.K
        if corpus.sample and vectors is not None and not Path(vectors).exists():
            vectors = None
        return bank_of(corpus.path, vectors, K, self.cfg.data.sentences)

    @property
    def texts(self) -> dict[str, Texts]:
        """What every vector row embeds: all training phrases, and the sentences of dev and test."""
        return {"train": self.bank.phrases, **{s: self.bank.sentences[s] for s in ("dev", "test")}}

    @property
    def labels(self) -> dict[str, np.ndarray]:
        return {s: t.label for s, t in self.bank.sentences.items()}


def classified(study: Study, x: dict[str, np.ndarray], train: Texts | None = None, **facts) -> Outcome:
    """The paper's classifier on top of vectors, trained on all phrases unless told otherwise."""
    train, labels = train or study.bank.phrases, study.labels
    logp, setting = classify(x, train.label, train.lengths, labels["train"], labels["dev"])
    kept = {s: x[s] for s in ("dev", "test")}
    return Outcome(logp, kept, {**facts, "unit_norm": setting.unit, "length_power": setting.power})


def averages(study: Study, vectors_VK: torch.Tensor) -> dict[str, torch.Tensor]:
    return {split: average_words(vectors_VK, *texts.flat) for split, texts in study.texts.items()}


def lines(study: Study, texts: Texts) -> list[list[str]]:
    """The words of each text."""
    words = study.bank.vocabulary.words
    flat = [words[i] for i in texts.tokens]
    return [flat[a:b] for a, b in pairwise(texts.offsets)]


def fit_language_model(
    study: Study, config: dict, name: str, seed: int, train: Texts, dev: Texts, attributes: list[str],
    table: torch.Tensor | None = None, learn: bool = False, fall: bool = False,
) -> tuple[LanguageModel, list[dict[str, float]]]:  # fmt: skip
    """A model of conf/model on these texts from the pretrained vectors; `table` starts L, `learn` lets it move.

    `fall`: the step size falls linearly to 0 over the whole training.
    """
    from tasks.learning.language_model import LanguageModel, Optim
    from tasks.learning.models import build
    from tasks.learning.training import fit

    cfg, bank = study.cfg, study.bank
    torch.manual_seed(seed)
    model = build(config, [len(bank.vocabulary)], len(attributes))
    model.start_at(bank.vectors)
    model.start_bias(torch.from_numpy(bank.vocabulary.counts))
    if table is not None:
        model.attributes.start_at(table)
        model.L.requires_grad_(learn)
    if config["name"] == "lbl":
        train, dev = (replace(t, attributes=np.zeros(len(t), dtype=np.int32)) for t in (train, dev))
    data = window_data(train, dev, config["context"], cfg.data.batch_size, seed)
    steps = len(data.train_dataloader()) * cfg.trainer.max_epochs
    optim = Optim(**cfg.optim, fall=steps if fall else None)
    tokeniser = {"kind": "fast", "language": "en", "numbers": False}
    module = LanguageModel(model, [bank.vocabulary], attributes, optim, config, seed, tokeniser)
    curve = fit(module, data, cfg, study.out, name)
    return module, curve


def window_data(train: Texts, dev: Texts, context: int, batch_size: int, seed: int):
    from lightning import LightningDataModule

    from atd.windows import WindowLoader

    class Windows(LightningDataModule):
        def train_dataloader(self) -> WindowLoader:
            return WindowLoader(train, context, batch_size, seed)

        def val_dataloader(self) -> WindowLoader:
            return WindowLoader(dev, context, batch_size, seed, shuffle=False)

    return Windows()
