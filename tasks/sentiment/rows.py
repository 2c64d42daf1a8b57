"""The rows of the sentiment table. Each takes the study and a seed and returns what it thinks of val and test.

n texts, A attributes, D attribute dim.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial

import numpy as np
import torch
from torch import Tensor

from atd.encoded import EncodedCorpus
from atd.inference import infer
from atd.lm import MultiplicativeLM, NextWordModel
from datamodules.treebank import LABELS, numbered
from tasks.engine.rows import Outcome, Row, Store
from tasks.learning.inference import options
from tasks.learning.training import fit
from tasks.sentiment.baselines import binb, doc2vec, lbl, mlp, word_average
from tasks.sentiment.encoder import Sentiment, SentimentData
from tasks.sentiment.ensemble import ensemble
from tasks.sentiment.joint import joint
from tasks.sentiment.scores import accuracies, log_prior
from tasks.sentiment.settings import Context, Tree
from tasks.sentiment.study import HELD_OUT, Study, arrays_of, averages, centred, classified, fit_language_model, judged

POWERS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0)


def rows_of(study: Study, store: Store) -> list[Row]:
    """The rows that `task.rows` names."""
    task = study.task
    runs: dict[str, Callable[[int], Outcome]] = {
        "word-average": partial(word_average, study),
        "mlp": partial(mlp, study),
        "binb": partial(binb, study),
        "doc2vec": partial(doc2vec, study),
        "lbl": partial(lbl, study),
        "atd": partial(atd, study),
        "atd-paper": partial(joint, study, "paper"),
        "atd-joint": partial(joint, study, "joint"),
        "atd-labels": partial(labels_as_attributes, study),
        "atd-context": partial(encoded, study, "context", task.context),
        "atd-tree": partial(encoded, study, "tree", task.tree),
        "atd-refined": partial(refined, study, store),
        "atd-best": partial(ensemble, study, store),
    }
    after = {"atd-refined": ("atd-tree",), "atd-best": ("atd-tree", *task.stack)}
    return [Row(name, runs[name], study.seeds(name), after.get(name, ())) for name in task.rows]


def atd(study: Study, seed: int) -> Outcome:
    """Every phrase is an attribute that stays at its word average while the weights learn; then all are inferred."""
    return attribute_vectors(study, "atd", seed, averages(study, study.words.vectors_VK), study.texts)


def refined(study: Study, store: Store, seed: int) -> Outcome:
    """x of the tree encoder as start and prior: the language model corrects what the encoder read off."""
    read_off = arrays_of(store.load("atd-tree", seed), "x")
    start = {split: torch.from_numpy(x) for split, x in read_off.items()}
    return attribute_vectors(study, "refined", seed, start, study.sentences)


def attribute_vectors(
    study: Study, name: str, seed: int, start: dict[str, Tensor], texts: dict[str, EncodedCorpus]
) -> Outcome:
    """Train the language model with x held at `start`, centred, then infer all texts alike with that as the prior."""
    cfg = study.cfg
    start = centred(start)
    table_AD = torch.cat([start["train"], start["val"]])
    parts = numbered({"train": texts["train"], "val": texts["val"]})
    config = {**cfg.model, "D": table_AD.shape[1]}
    module, curve = fit_language_model(study, cfg, config, parts, f"{name}-{seed}", seed, table_AD)
    model = module.model
    assert isinstance(model, MultiplicativeLM)
    act = model.attributes.act
    x, converged = {}, {}
    for split, part in texts.items():
        found = infer(model, *part.flat, prior=act(start[split]), **options(cfg.inference, seed))
        x[split] = found.x.numpy()
        converged[f"converged_{split}"] = float(found.converged.double().mean())
    return classified(study, x, texts["train"], converged, curve)


def labels_as_attributes(study: Study, seed: int) -> Outcome:
    """Five attributes, the labels: a sentence belongs to the label under which it is likeliest (Bayes).

    The labels start apart (one-hot x) and shift the words also without a context (`additive`). One pass, slow for the
    words: each comes in seven nested phrases on average, which further passes learn by heart. What a label adds is a
    few numbers, and learns fast.
    """
    falling = {} if study.cfg.optim.name == "sgd" else {"lr_decay": "linear"}
    cfg = study.changed(optim={**asdict(study.task.labels), **falling}, trainer={"max_epochs": 1})
    config = {**cfg.model, "additive": True, "D": len(LABELS)}
    parts = {"train": study.treebank.phrases(), "val": study.treebank.sentences("val")}  # their attribute is the label
    start_AD = torch.eye(len(LABELS))
    module, curve = fit_language_model(study, cfg, config, parts, f"labels-{seed}", seed, start_AD, learn=True)
    model = module.model.eval()
    score = {split: log_likelihoods(model, study.texts[split], study.data.context) for split in HELD_OUT}
    return tempered(study, score, curve)


@torch.no_grad()
def log_likelihoods(model: NextWordModel, texts: EncodedCorpus, N: int) -> np.ndarray:
    """log p(text | label), n×5."""
    tokens, _ = texts.flat
    owner = torch.from_numpy(texts.owner)
    context = torch.from_numpy(texts.windows(N))
    score = torch.zeros(len(texts), len(LABELS))
    for k in range(len(LABELS)):
        nll = model.nll(context, tokens, torch.full_like(tokens, k), reduction="none")
        score[:, k].index_add_(0, owner, -nll)
    return score.numpy()


def tempered(study: Study, score: dict[str, np.ndarray], curve: list[dict[str, float]]) -> Outcome:
    """Words are not independent, and the model learned the labels only so far: val chooses the likelihoods' power."""
    prior, val = log_prior(study.labels["train"]), study.labels["val"]
    best = max(POWERS, key=lambda power: sum(accuracies(power * score["val"] + prior, val)))
    joint = {split: best * values + prior for split, values in score.items()}
    logp = {split: values - np.logaddexp.reduce(values, axis=1, keepdims=True) for split, values in joint.items()}
    return judged(study, logp, chosen={"power": best}, curve=curve)


def encoded(study: Study, name: str, settings: Tree | Context, seed: int) -> Outcome:
    """Amortised inference: x read off by a supervised encoder, its softmax the classifier."""
    data = SentimentData(study.treebank, settings, seed)
    steps = settings.epochs * len(data.train_dataloader())
    module = Sentiment(study.words.vectors_VK, settings, steps, seed)
    cfg = study.changed(trainer={"max_epochs": settings.epochs, "patience": settings.epochs})
    curve = fit(module, data, cfg, study.out, f"{name}-{seed}", monitor="val/both", mode="max")
    found = {split: module.predict(data.sentences(split)) for split in study.labels}
    logp = {split: found[split][0] for split in HELD_OUT}
    return judged(study, logp, {split: x for split, (_, x) in found.items()}, curve=curve)
