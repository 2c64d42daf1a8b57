"""The rows of the sentiment table. Each takes the study and a seed and returns what it thinks of dev and test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from omegaconf import OmegaConf

from atd.errors import AtdError
from atd.inference.infer import infer
from datamodules.trees import Texts
from tasks.learning.inference import options
from tasks.sentiment.baselines import binb, doc2vec, lbl, word_average
from tasks.sentiment.scores import LABELS, accuracies, log_prior
from tasks.sentiment.study import Outcome, Study, averages, classified, fit_language_model, lines, load


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
    names = [" ".join(line) for split in ("train", "dev") for line in lines(study, texts[split])]
    table = torch.cat([start["train"], start["dev"]])
    config = {**cfg.model, "D": table.shape[1]}
    module, curve = fit_language_model(
        study, config, f"{name}-{seed}", seed, texts["train"], dev, names, table, cfg.task.learn_table
    )
    model = module.model
    act = model.attributes.act
    x, facts = {}, {}
    for split in texts:
        prior = act(model.L[:n].detach()) if split == "train" and cfg.task.learn_table else act(start[split])
        found = infer(model, *texts[split].flat, prior=prior, **options(cfg.inference, seed))
        x[split] = found.x.numpy()
        facts[f"converged_{split}"] = float(found.converged.double().mean())
    return replace(classified(study, x, texts["train"], **facts), curve=curve)


def labels_as_attributes(study: Study, seed: int) -> Outcome:
    """Five attributes, the labels: a sentence belongs to the label under which it is likeliest (Bayes).

    The labels start apart (one-hot x) and shift the words also without a context (`additive`). One slow pass: each
    word comes in seven nested phrases on average, which further passes learn by heart.
    """
    cfg, texts = study.cfg, study.texts
    config = {**cfg.model, "additive": True, "D": len(LABELS)}
    train, dev = (replace(texts[s], attributes=texts[s].label.astype(np.int32)) for s in ("train", "dev"))
    once = Study(OmegaConf.merge(cfg, {"optim": cfg.task.labels, "trainer": {"max_epochs": 1}}), study.out)
    module, curve = fit_language_model(
        once,
        config,
        f"labels-{seed}",
        seed,
        train,
        dev,
        list(LABELS),
        torch.eye(len(LABELS)),
        learn=True,
        fall=True,
    )
    model, logp = module.model.eval(), {}
    for split in ("dev", "test"):
        tokens, _ = texts[split].flat
        text = torch.from_numpy(texts[split].owner)
        context = torch.from_numpy(texts[split].windows(cfg.model.context))
        score = torch.zeros(len(texts[split]), 5)
        with torch.no_grad():
            for k in range(5):
                nll = model.nll(context, tokens, torch.full_like(tokens, k), reduction="none")
                score[:, k].index_add_(0, text, -nll)
        logp[split] = score.numpy()
    return Outcome(*temper(logp, study), curve=curve)


def temper(score: dict[str, np.ndarray], study: Study) -> tuple[dict[str, np.ndarray], dict, dict]:
    """Words are not independent, and the model learned the labels only so far: dev chooses the likelihoods' power."""
    prior, dev = log_prior(study.labels["train"]), study.labels["dev"]
    powers = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0)
    best = max(powers, key=lambda p: sum(accuracies(p * score["dev"] + prior, dev)))
    logp = {s: best * v + prior for s, v in score.items()}
    return {s: v - np.logaddexp.reduce(v, axis=1, keepdims=True) for s, v in logp.items()}, {}, {"power": best}


def encoded(study: Study, seed: int, kind: str) -> Outcome:
    """Amortised inference: x read off by a supervised encoder, its softmax the classifier."""
    from tasks.learning.training import fit
    from tasks.sentiment.encoder import EncoderSettings, Sentiment, SentimentData

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
