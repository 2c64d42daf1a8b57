"""The baselines of the sentiment table, on the same phrases and with the same classifier."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np

from atd.lm import LogBilinearLM
from datamodules.treebank import lines
from tasks.engine.rows import Outcome
from tasks.learning.controls import lbl_of
from tasks.learning.doc2vec import infer_document, train_dbow
from tasks.sentiment.scores import accuracies, log_prior
from tasks.sentiment.study import HELD_OUT, Study, averages, classified, fit_language_model, judged

HIDDEN = (50, 200)  # units of the network on the word average; val chooses


def word_average(study: Study, seed: int) -> Outcome:
    """The initialisation of the paper's sentence vectors, by itself."""
    return classified(study, {split: x.numpy() for split, x in averages(study, study.words.vectors_VK).items()})


def mlp(study: Study, seed: int) -> Outcome:
    """A network with one hidden layer on the word average: what a classifier that is not linear makes of it."""
    x = {split: vectors.numpy() for split, vectors in averages(study, study.words.vectors_VK).items()}
    return classified(study, x, units=(False,), hiddens=HIDDEN, seed=seed)


def binb(study: Study, seed: int) -> Outcome:
    """Naive Bayes on the presence of words and bigrams; val chooses smoothing and phrase weights."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB

    texts, labels = study.texts, study.labels
    vectorizer = CountVectorizer(analyzer=_bigrams, binary=True)
    train = vectorizer.fit_transform(lines(texts["train"]))
    held = {split: vectorizer.transform(lines(texts[split])) for split in HELD_OUT}
    label, length = texts["train"].columns["label"], texts["train"].lengths.astype(float)
    best: tuple[float, dict, dict] | None = None
    for alpha in (0.1, 0.3, 1.0):
        for power in (0.0, 1.0, 2.0):
            model = MultinomialNB(alpha=alpha, class_prior=np.exp(log_prior(labels["train"])))
            model.fit(train, label, sample_weight=length**power / np.mean(length**power))
            logp = {split: model.predict_log_proba(x) for split, x in held.items()}
            value = sum(accuracies(logp["val"], labels["val"]))
            if best is None or value > best[0]:
                best = value, logp, {"alpha": alpha, "length_power": power}
    assert best is not None
    return judged(study, best[1], chosen=best[2])


def _bigrams(words: list[str]) -> list[str]:
    return words + [f"{a} {b}" for a, b in pairwise(words)]


def doc2vec(study: Study, seed: int) -> Outcome:
    """gensim's paragraph vectors (DBOW) of the same size, on the same phrases. The training phrases are inferred as
    val and test are: gensim's trained and inferred vectors differ."""
    settings, texts = study.task.doc2vec, study.texts
    model = train_dbow(lines(texts["train"]), study.cfg.model.D, study.data.context, 1, settings.epochs, seed)
    infer = partial(infer_document, model, epochs=settings.infer_epochs)
    return classified(study, {split: np.stack([infer(line) for line in lines(part)]) for split, part in texts.items()})


def lbl(study: Study, seed: int) -> Outcome:
    """Averages of the word vectors that a log-bilinear model makes of the pretrained ones."""
    config = lbl_of(study.cfg)
    module, curve = fit_language_model(study, study.cfg, config, study.sentences, f"lbl-{seed}", seed)
    assert isinstance(module.model, LogBilinearLM)
    x = averages(study, module.model.R.detach())
    return classified(study, {split: vectors.numpy() for split, vectors in x.items()}, curve=curve)
