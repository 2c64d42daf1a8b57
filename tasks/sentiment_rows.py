"""The rows of the sentiment table. Each takes the study and a seed and returns what it thinks of dev and test:
log-probabilities (n×5), and for rows that make vectors also those.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from atd.attributes import average_words
from atd.errors import AtdError
from atd.infer import infer
from datamodules.treebank import Texts, Treebank, cut, load_treebank
from tasks.inference import options
from tasks.sentiment_scores import accuracies, classify, log_prior

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from tasks.language_model import LanguageModel


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
def bank_of(data: str, vectors: str, sentences: int | None) -> Treebank:
    bank = load_treebank(data, vectors)
    return bank if sentences is None else cut(bank, sentences, sentences // 4)


@dataclass
class Study:
    cfg: DictConfig
    out: Path

    @property
    def bank(self) -> Treebank:
        return bank_of(self.cfg.paths.data, self.cfg.model.vectors, self.cfg.data.sentences)

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


def word_average(study: Study, seed: int) -> Outcome:
    """The initialisation of the paper's sentence vectors, by itself."""
    return classified(study, {s: x.numpy() for s, x in averages(study, study.bank.vectors).items()})


def binb(study: Study, seed: int) -> Outcome:
    """Naive Bayes on the presence of words and bigrams; dev chooses smoothing and phrase weights."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB

    words = study.bank.vocabulary.words

    def lines(texts: Texts) -> list[list[str]]:
        flat = [words[i] for i in texts.tokens]
        return [flat[a:b] for a, b in pairwise(texts.offsets)]

    vectorizer = CountVectorizer(analyzer=_bigrams, binary=True)
    train = vectorizer.fit_transform(lines(study.bank.phrases))
    held = {s: vectorizer.transform(lines(study.bank.sentences[s])) for s in ("dev", "test")}
    label, length = study.bank.phrases.label, study.bank.phrases.lengths.astype(float)
    best: tuple[float, dict, dict] | None = None
    for alpha in (0.1, 0.3, 1.0):
        for power in (0.0, 1.0, 2.0):
            model = MultinomialNB(alpha=alpha, class_prior=np.exp(log_prior(study.labels["train"])))
            model.fit(train, label, sample_weight=length**power / np.mean(length**power))
            logp = {s: model.predict_log_proba(x) for s, x in held.items()}
            value = sum(accuracies(logp["dev"], study.labels["dev"]))
            if best is None or value > best[0]:
                best = value, logp, {"alpha": alpha, "length_power": power}
    assert best is not None
    return Outcome(best[1], facts=best[2])


def _bigrams(words: list[str]) -> list[str]:
    return words + [f"{a} {b}" for a, b in pairwise(words)]


def doc2vec(study: Study, seed: int) -> Outcome:
    """gensim's paragraph vectors (DBOW with words) of the same size, on the same phrases."""
    from gensim.models.doc2vec import Doc2Vec, TaggedDocument

    settings = study.cfg.task.doc2vec
    texts = study.texts
    words = study.bank.vocabulary.words

    def lines(t: Texts) -> list[list[str]]:
        flat = [words[i] for i in t.tokens]
        return [flat[a:b] for a, b in pairwise(t.offsets)]

    documents = [TaggedDocument(line, [i]) for i, line in enumerate(lines(texts["train"]))]
    model = Doc2Vec(
        documents, vector_size=study.cfg.model.D, window=study.cfg.model.context, min_count=1, dm=0, dbow_words=0,
        negative=5, sample=1e-3, epochs=settings.epochs, workers=1, seed=seed + 1,
    )  # fmt: skip
    x = {"train": model.dv.vectors}
    for split in ("dev", "test"):
        x[split] = np.stack([model.infer_vector(line, epochs=settings.infer_epochs) for line in lines(texts[split])])
    return classified(study, x)


def lbl(study: Study, seed: int) -> Outcome:
    """Averages of the word vectors that a log-bilinear model makes of the pretrained ones."""
    cfg = study.cfg
    config = {"name": "lbl", "K": cfg.model.K, "context": cfg.model.context, "vectors": None}
    train = study.bank.sentences["train"]
    module, curve = fit_language_model(study, config, f"lbl-{seed}", seed, train, study.bank.sentences["dev"], ["-"])
    x = averages(study, module.model.R.detach())
    return replace(classified(study, {s: v.numpy() for s, v in x.items()}), curve=curve)


def atd(study: Study, seed: int) -> Outcome:
    """The paper's protocol: every phrase is an attribute that starts at its word average; then inference."""
    return attribute_vectors(study, seed, averages(study, study.bank.vectors), study.texts, "atd")


def refined(study: Study, seed: int) -> Outcome:
    """x of the tree encoder as start and prior: the language model corrects what the encoder read off."""
    source = study.out / "rows" / f"atd-tree-{seed}.npz"
    if not source.exists():
        raise AtdError("task.rows: atd-refined starts from atd-tree; name both")
    start = {split: torch.from_numpy(x) for split, x in load(source).x.items()}
    return attribute_vectors(study, seed, start, study.bank.sentences, "refined")


def attribute_vectors(
    study: Study, seed: int, start: dict[str, torch.Tensor], texts: dict[str, Texts], name: str
) -> Outcome:
    """Train the language model with x at `start`, then infer all texts alike with `start` as the prior.

    x is centred and scaled to about unit variance, so that the gate W_fd x + 1 can open and close.
    """
    cfg = study.cfg
    mean, scale = start["train"].mean(0), start["dev"].std(0).mean()  # phrases spread wider than sentences
    start = {s: (x - mean) / scale for s, x in start.items()}
    n = len(texts["train"])
    dev = replace(texts["dev"], attributes=(n + np.arange(len(texts["dev"]))).astype(np.int32))
    names = [str(i) for i in range(n + len(dev))]
    table = torch.cat([start["train"], start["dev"]])
    config = {**cfg.model, "D": table.shape[1]}
    module, curve = fit_language_model(study, config, f"{name}-{seed}", seed, texts["train"], dev, names, table)
    model = module.model
    act = model.attributes.act
    x, facts = {}, {}
    for split in texts:
        prior = act(model.L[:n].detach()) if split == "train" and cfg.task.learn_table else act(start[split])
        found = infer(model, *texts[split].flat, prior=prior, **options(cfg.inference, seed))
        x[split] = found.x.numpy()
        facts[f"converged_{split}"] = float(found.converged.double().mean())
    return replace(classified(study, x, texts["train"], **facts), curve=curve)


def fit_language_model(
    study: Study, config: dict, name: str, seed: int, train: Texts, dev: Texts, attributes: list[str],
    table: torch.Tensor | None = None,
) -> tuple[LanguageModel, list[dict[str, float]]]:  # fmt: skip
    """A model of conf/model on these texts from the pretrained vectors; `table` starts L, which then stays."""
    from tasks.language_model import LanguageModel, Optim
    from tasks.models import build
    from tasks.training import fit

    cfg, bank = study.cfg, study.bank
    torch.manual_seed(seed)
    model = build(config, [len(bank.vocabulary)], len(attributes))
    model.start_at(bank.vectors)
    model.start_bias(torch.from_numpy(bank.vocabulary.counts))
    if table is not None:
        model.attributes.start_at(table)
        model.L.requires_grad_(cfg.task.learn_table)
    if config["name"] == "lbl":
        train, dev = (replace(t, attributes=np.zeros(len(t), dtype=np.int32)) for t in (train, dev))
    optim, tokeniser = Optim(**cfg.optim), {"kind": "fast", "language": "en", "numbers": False}
    module = LanguageModel(model, [bank.vocabulary], attributes, optim, config, seed, tokeniser)
    data = window_data(train, dev, config["context"], cfg.data.batch_size, seed)
    curve = fit(module, data, cfg, study.out, name)
    return module, curve


def window_data(train: Texts, dev: Texts, context: int, batch_size: int, seed: int):
    from lightning import LightningDataModule

    from datamodules.windows import WindowLoader

    class Windows(LightningDataModule):
        def train_dataloader(self) -> WindowLoader:
            return WindowLoader(train, context, batch_size, seed)

        def val_dataloader(self) -> WindowLoader:
            return WindowLoader(dev, context, batch_size, seed, shuffle=False)

    return Windows()


def labels_as_attributes(study: Study, seed: int) -> Outcome:
    """Five attributes, the labels: a sentence belongs to the label under which it is likeliest (Bayes).

    Trained on sentences: with all phrases, each word comes seven times in nested ones, which the model learns by
    heart (dev perplexity 1647 after one epoch, against about 400 from sentences alone).
    """
    from atd.infer import windows
    from tasks.sentiment_scores import LABELS

    cfg, texts = study.cfg, study.texts
    train, dev = (
        replace(t, attributes=t.label.astype(np.int32)) for t in (study.bank.sentences["train"], texts["dev"])
    )
    config = {**cfg.model, **cfg.task.labels}
    module, curve = fit_language_model(study, config, f"labels-{seed}", seed, train, dev, list(LABELS))
    model, logp = module.model.eval(), {}
    for split in ("dev", "test"):
        tokens, offsets = texts[split].flat
        text = torch.repeat_interleave(torch.arange(len(offsets) - 1), offsets.diff())
        context = windows(tokens, offsets, torch.arange(len(tokens)), cfg.model.context)
        score = torch.zeros(len(offsets) - 1, 5)
        with torch.no_grad():
            for k in range(5):
                nll = model.nll(context, tokens, torch.full_like(tokens, k), reduction="none")
                score[:, k].index_add_(0, text, -nll)
        logp[split] = score.numpy()
    return Outcome(*temper(logp, study), curve=curve)


def temper(score: dict[str, np.ndarray], study: Study) -> tuple[dict[str, np.ndarray], dict, dict]:
    """Words are not independent, so likelihoods are overconfident: dev chooses the power they are raised to."""
    prior, dev = log_prior(study.labels["train"]), study.labels["dev"]
    powers = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
    best = max(powers, key=lambda p: sum(accuracies(p * score["dev"] + prior, dev)))
    logp = {s: best * v + prior for s, v in score.items()}
    return {s: v - np.logaddexp.reduce(v, axis=1, keepdims=True) for s, v in logp.items()}, {}, {"power": best}


def encoded(study: Study, seed: int, kind: str) -> Outcome:
    """Amortised inference: x read off by a supervised encoder, its softmax the classifier."""
    from omegaconf import OmegaConf

    from tasks.sentiment_encoder import EncoderSettings, Sentiment, SentimentData
    from tasks.training import fit

    settings = EncoderSettings(kind=kind, **study.cfg.task[kind])
    data = SentimentData(study.bank, settings, seed)
    module = Sentiment(study.bank, settings, settings.epochs * len(data.train_dataloader()), seed)
    cfg = OmegaConf.merge(study.cfg, {"trainer": {"max_epochs": settings.epochs, "patience": settings.epochs}})
    curve = fit(module, data, cfg, study.out, f"{kind}-{seed}", monitor="val/both", mode="max")
    found = {split: module.predict(data.sentences(split)) for split in study.labels}
    return Outcome({s: found[s][0] for s in ("dev", "test")}, {s: f[1] for s, f in found.items()}, curve=curve)


ROWS: dict[str, Callable[[Study, int], Outcome]] = {
    "word-average": word_average,
    "binb": binb,
    "doc2vec": doc2vec,
    "lbl": lbl,
    "atd": atd,
    "atd-labels": labels_as_attributes,
    "atd-context": partial(encoded, kind="context"),
    "atd-tree": partial(encoded, kind="tree"),
    "atd-refined": refined,
}
