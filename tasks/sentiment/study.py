"""What the rows of the sentiment table share: the data, the classifier on top of vectors, the language model.

n texts, V vocabulary, K word dim, D attribute dim.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from omegaconf import OmegaConf
from torch import Tensor

from atd.attributes import average_words
from atd.design import Design
from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.lm import LogBilinearLM, MultiplicativeLM
from datamodules.corpus import SPLITS, Windows
from datamodules.treebank import Treebank
from tasks.engine.rows import Outcome
from tasks.engine.settings import typed
from tasks.learning.corpora import open_corpus
from tasks.learning.doc2vec import check_gensim
from tasks.learning.language_model import LanguageModel, optim_of
from tasks.learning.models import build
from tasks.learning.training import fit
from tasks.sentiment.scores import classify, scores
from tasks.sentiment.settings import ONCE, Settings, check_protocol
from tasks.sentiment.words import Words, start_words

if TYPE_CHECKING:
    from omegaconf import DictConfig

HELD_OUT = ("val", "test")
Curve = list[dict[str, float]]


@dataclass
class Study:
    """What every row is given. It goes to other processes without the texts, which they map from the cache."""

    cfg: DictConfig
    task: Settings
    out: Path
    data: Treebank
    words: Words

    @property
    def treebank(self) -> Treebank:
        self.data.setup()  # in another process; else it is open already
        return self.data

    @property
    def texts(self) -> dict[str, EncodedCorpus]:
        """What every vector row embeds: all training phrases, and the sentences of val and test."""
        return self.treebank.encoded

    @property
    def sentences(self) -> dict[str, EncodedCorpus]:
        return {split: self.treebank.sentences(split) for split in SPLITS}

    @property
    def labels(self) -> dict[str, np.ndarray]:
        """Of the sentences."""
        return {split: texts.columns["label"] for split, texts in self.sentences.items()}

    def seeds(self, row: str) -> range:
        """The seeds of a row. Tree encoders are trained `members` times for each seed of the others."""
        first, task = self.cfg.seed, self.task
        if row in ONCE:
            return range(first, first + 1)
        if row not in ("atd-tree", "atd-refined"):
            return range(first, first + task.seeds)
        step = task.members if row == "atd-refined" else 1
        return range(first, first + task.seeds * task.members, step)

    def changed(self, **groups: dict[str, Any]) -> DictConfig:
        """The configuration with other values in some of its groups."""
        return cast("DictConfig", OmegaConf.merge(self.cfg, groups))


def open_study(cfg: DictConfig, out: Path) -> Study:
    """Open the treebank and find the words' vectors."""
    task = typed(Settings, cfg.task)
    for key, value in {"attribute": "phrase", "roots": False}.items():
        if cfg.data[key] != value:
            raise AtdError(f"data.{key}={cfg.data[key]}: the rows of task=sentiment choose their texts; leave it out")
    check_protocol(cfg, task.rows)
    check_gensim(row for row in task.rows if row == "doc2vec")
    data = cast("Treebank", open_corpus(cfg))
    words = start_words(cfg.model.vectors, cfg.model.K, data.vocabulary, data.sentences("train"))
    return Study(cfg, task, out, data, words)


def judged(
    study: Study,
    logp: Mapping[str, np.ndarray],
    x: Mapping[str, np.ndarray] | None = None,
    chosen: Mapping[str, Any] | None = None,
    curve: Curve | None = None,
) -> Outcome:
    """The outcome of log-probabilities (n×5) and the vectors behind them, both by split.

    `chosen` is what val chose; `curve` the learning curve.
    """
    arrays = {f"logp_{split}": values for split, values in logp.items()}
    arrays |= {f"x_{split}": values for split, values in (x or {}).items()}
    return Outcome(scores(logp, study.labels), arrays, {"chosen": dict(chosen or {}), "curve": curve or []})


def arrays_of(outcome: Outcome, kind: str) -> dict[str, np.ndarray]:
    """`logp` or `x` of an outcome, by split."""
    found = outcome.arrays.items()
    return {name.removeprefix(f"{kind}_"): values for name, values in found if name.startswith(f"{kind}_")}


def classified(
    study: Study,
    x: Mapping[str, np.ndarray],
    train: EncodedCorpus | None = None,
    chosen: Mapping[str, Any] | None = None,
    curve: Curve | None = None,
    **options: Any,
) -> Outcome:
    """The paper's classifier on top of vectors, trained on all phrases unless told otherwise.

    `options` of `classify` make it another one.
    """
    train, labels = train or study.texts["train"], study.labels
    logp, setting = classify(x, train.columns["label"], train.lengths, labels["train"], labels["val"], **options)
    all_chosen = {**(chosen or {}), "unit_norm": setting.unit, "length_power": setting.power}
    if setting.hidden:
        all_chosen["hidden"] = setting.hidden
    return judged(study, logp, {split: x[split] for split in HELD_OUT}, all_chosen, curve)


def averages(study: Study, vectors_VK: Tensor) -> dict[str, Tensor]:
    """The mean word vector of every text."""
    return {split: average_words(vectors_VK, *texts.flat) for split, texts in study.texts.items()}


def centred(start: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Vectors around 0 and of about unit variance, so that the gate W_fd x + 1 can open and close."""
    mean, scale = start["train"].mean(0), start["val"].std(0).mean()  # phrases spread wider than sentences
    return {split: (x - mean) / scale for split, x in start.items()}


def fit_language_model(
    study: Study,
    cfg: DictConfig,
    config: dict[str, Any],
    encoded: dict[str, EncodedCorpus],
    name: str,
    seed: int,
    table_AD: Tensor | None = None,
    learn: bool = False,
) -> tuple[LanguageModel, Curve]:
    """A model of conf/model on texts and their attributes, from the pretrained vectors; `table_AD` starts L, `learn`
    lets it move.
    """
    train = encoded["train"]
    vocabulary, names = train.vocabulary, train.meta["attributes"]
    torch.manual_seed(seed)
    model = build(config, [len(vocabulary)], len(names))
    assert isinstance(model, LogBilinearLM | MultiplicativeLM)
    model.start_at(study.words.vectors_VK)
    model.start_bias(torch.from_numpy(vocabulary.counts))
    if table_AD is not None:
        assert isinstance(model, MultiplicativeLM)
        model.attributes.start_at(table_AD)
        model.L.requires_grad_(learn)
    data = Windows(encoded, study.data.context, study.data.batch_size, seed)
    tokeniser = asdict(study.data.tokeniser)
    module = LanguageModel(model, [vocabulary], Design.plain(names), optim_of(cfg), config, seed, tokeniser)
    return module, fit(module, data, cfg, study.out, name)
