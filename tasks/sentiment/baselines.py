"""The baselines of the sentiment table, on the same phrases and with the same classifier."""

from __future__ import annotations

import logging
from dataclasses import replace
from itertools import pairwise

import numpy as np

from atd.errors import AtdError
from tasks.sentiment.scores import accuracies, log_prior
from tasks.sentiment.study import Outcome, Study, averages, classified, fit_language_model, lines


def word_average(study: Study, seed: int) -> Outcome:
    """The initialisation of the paper's sentence vectors, by itself."""
    return classified(study, {s: x.numpy() for s, x in averages(study, study.bank.vectors).items()})


def binb(study: Study, seed: int) -> Outcome:
    """Naive Bayes on the presence of words and bigrams; dev chooses smoothing and phrase weights."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB

    vectorizer = CountVectorizer(analyzer=_bigrams, binary=True)
    train = vectorizer.fit_transform(lines(study, study.bank.phrases))
    held = {s: vectorizer.transform(lines(study, study.bank.sentences[s])) for s in ("dev", "test")}
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
    """gensim's paragraph vectors (DBOW) of the same size, on the same phrases."""
    try:
        from gensim.models.doc2vec import Doc2Vec, TaggedDocument
    except ImportError:
        raise AtdError("task.rows: doc2vec needs gensim; pip install gensim, or leave the row out") from None
    logging.getLogger("gensim").setLevel(logging.WARNING)
    settings = study.cfg.task.doc2vec
    texts = study.texts
    documents = [TaggedDocument(line, [i]) for i, line in enumerate(lines(study, texts["train"]))]
    model = Doc2Vec(
        documents, vector_size=study.cfg.model.D, window=study.cfg.model.context, min_count=1, dm=0, dbow_words=0,
        negative=5, sample=1e-3, epochs=settings.epochs, workers=1, seed=seed + 1,
    )  # fmt: skip
    x = {"train": model.dv.vectors}
    for split in ("dev", "test"):
        inferred = [model.infer_vector(line, epochs=settings.infer_epochs) for line in lines(study, texts[split])]
        x[split] = np.stack(inferred)
    return classified(study, x)


def lbl(study: Study, seed: int) -> Outcome:
    """Averages of the word vectors that a log-bilinear model makes of the pretrained ones."""
    cfg = study.cfg
    config = {"name": "lbl", "K": cfg.model.K, "context": cfg.model.context, "vectors": None}
    train = study.bank.sentences["train"]
    module, curve = fit_language_model(study, config, f"lbl-{seed}", seed, train, study.bank.sentences["dev"], ["-"])
    x = averages(study, module.model.R.detach())
    return replace(classified(study, {s: v.numpy() for s, v in x.items()}), curve=curve)
