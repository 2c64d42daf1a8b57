"""The baselines of the sentiment table, on the same phrases and with the same classifier."""

from __future__ import annotations

import logging
import zlib
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from atd.errors import AtdError
from atd.lm import LogBilinearLM
from datamodules.treebank import lines
from tasks.engine.rows import Outcome
from tasks.learning.controls import lbl_of
from tasks.sentiment.scores import accuracies, log_prior
from tasks.sentiment.study import HELD_OUT, Study, averages, classified, fit_language_model, judged

if TYPE_CHECKING:
    from gensim.models.doc2vec import Doc2Vec


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
    try:
        from gensim.models.doc2vec import Doc2Vec, TaggedDocument
    except ImportError:
        raise AtdError("task.rows: doc2vec needs gensim; pip install gensim, or leave the row out") from None
    logging.getLogger("gensim").setLevel(logging.WARNING)
    settings, texts = study.task.doc2vec, study.texts
    documents = [TaggedDocument(line, [i]) for i, line in enumerate(lines(texts["train"]))]
    model = Doc2Vec(
        documents,
        vector_size=study.cfg.model.D,
        window=study.data.context,
        min_count=1,
        dm=0,
        dbow_words=0,
        negative=5,
        sample=1e-3,
        epochs=settings.epochs,
        workers=1,
        seed=seed + 1,
        hashfxn=stable_hash,
    )
    infer = partial(infer_document, model, epochs=settings.infer_epochs)
    return classified(study, {split: np.stack([infer(line) for line in lines(part)]) for split, part in texts.items()})


def stable_hash(text: str) -> int:
    """The same in every process; Python's own hash is not."""
    return zlib.crc32(text.encode())


def infer_document(model: Doc2Vec, words: list[str], epochs: int) -> np.ndarray:
    """`model.infer_vector` with a start that is the same in every process: gensim's own heeds no `hashfxn`."""
    from gensim.models.doc2vec import train_document_dbow

    D = model.vector_size
    generator = np.random.default_rng(stable_hash(" ".join(words)))
    x_1D = ((generator.random((1, D)) - 0.5) / D).astype(np.float32)
    for alpha in np.linspace(model.alpha, model.min_alpha, epochs):
        train_document_dbow(
            model,
            words,
            [0],
            float(alpha),
            np.zeros(D, dtype=np.float32),
            learn_words=False,
            learn_hidden=False,
            doctag_vectors=x_1D,
            doctags_lockf=np.ones(1, dtype=np.float32),
        )
    return x_1D[0]


def lbl(study: Study, seed: int) -> Outcome:
    """Averages of the word vectors that a log-bilinear model makes of the pretrained ones."""
    config = lbl_of(study.cfg)
    module, curve = fit_language_model(study, study.cfg, config, study.sentences, f"lbl-{seed}", seed)
    assert isinstance(module.model, LogBilinearLM)
    x = averages(study, module.model.R.detach())
    return classified(study, {split: vectors.numpy() for split, vectors in x.items()}, curve=curve)
