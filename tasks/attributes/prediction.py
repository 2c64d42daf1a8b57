"""Each column guessed from a text: by likelihood, from its inferred vector, by tf-idf, by always saying the commonest.

n documents, D attribute dim, A values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from atd.encoded import EncodedCorpus
from atd.inference import infer
from atd.likelihood import log_likelihoods
from atd.lm import MultiplicativeLM
from atd.ragged import Ragged
from atd.softmax_classifier import SoftmaxClassifier
from tasks.engine.result import Result
from tasks.learning.tfidf import count_table

if TYPE_CHECKING:
    from atd.trained import Trained
    from datamodules.corpus import Corpus

JUDGED = 300  # test documents
LEARNED = 1500  # training documents whose vectors are inferred
WORDS = 150  # of each of them
VALUES = 60  # of a column at most: with more, a guess says little
SAMPLES = 512  # words that stand for the vocabulary in inference


def show_prediction(result: Result, trained: Trained, data: Corpus, seed: int) -> None:
    """A table of accuracies, a row per column."""
    model, train = trained.model, data.encoded["train"]
    columns = {name: value_n for name, value_n in values_of(train, trained).items() if len(set(value_n)) <= VALUES}
    if not columns or not isinstance(model, MultiplicativeLM) or len(trained.vocabularies) > 1 or train.per_token:
        return
    learned, judged = some(train, LEARNED, seed), some(data.encoded["test"], JUDGED, seed)
    features = [vectors(model, texts, seed) for texts in (learned, judged)]
    weighted = tfidf(train, judged, len(data.vocabulary))
    rows = []
    for name, seen in columns.items():
        truth, known = values_of(judged, trained)[name], values_of(learned, trained)[name]
        if len(set(known)) < 2:
            continue
        guesses = {
            "likelihood": by_likelihood(trained, judged, name),
            "inferred vector": regression(features[0], known, features[1]),
            "tf-idf": classifier(seed).fit(weighted[0], seen).predict(weighted[1]),
            "majority": np.full(len(truth), commonest(seen)),
        }
        scores = {way: 100 * float(np.mean(guess == truth)) for way, guess in guesses.items()}
        for way, score in scores.items():
            result.details.setdefault(f"accuracy by {way}", {})[name] = score
        rows.append([name, len(set(seen)), *scores.values()])
    result.table(
        "Prediction",
        ["column", "values", *(f"{way}, %" for way in ("likelihood", "inferred vector", "tf-idf", "the commonest"))],
        rows,
        f"Guessed rightly from the first {WORDS} words of {len(judged)} test documents. Tf-idf is a regression on all "
        "training documents; the inferred vectors are judged by a regression, too. The commonest is always that value.",
    )


def values_of(texts: EncodedCorpus, trained: Trained) -> dict[str, np.ndarray]:
    """The value that every text has in each column of names (n). A number between knots is no name."""
    design = trained.design
    ids_nM = texts.attributes.reshape(len(texts), -1)
    first_T = np.searchsorted(design.term_A, np.arange(len(design.terms)))
    found: dict[str, np.ndarray] = {}
    for m in range(ids_nM.shape[1]):
        t = int(design.term_A[ids_nM[0, m]])
        codes = design.combinations[t][ids_nM[:, m] - first_T[t]]
        for q, code_n in zip(design.terms[t], codes.T, strict=True):
            column = design.columns[q]
            if column.knots is None:
                found.setdefault(column.name, np.array(column.values, dtype=object)[code_n])
    return found


def some(texts: EncodedCorpus, most: int, seed: int) -> EncodedCorpus:
    chosen = np.random.default_rng(seed).permutation(len(texts))[:most]
    return texts.take(np.sort(chosen))


def vectors(model: MultiplicativeLM, texts: EncodedCorpus, seed: int) -> np.ndarray:
    """The inferred vector of each text (n×D)."""
    return infer(model, *texts.heads(WORDS).flat, samples=SAMPLES, tolerance=1e-3, seed=seed).x.numpy()


def by_likelihood(trained: Trained, texts: Ragged, column: str) -> np.ndarray:
    """The value that makes each text likeliest, the other columns at their average."""
    values = trained.columns[column]
    x_AD = torch.stack([trained.x({column: value}) for value in values])
    assert isinstance(trained.model, MultiplicativeLM)
    log_p = log_likelihoods(trained.model, texts.heads(WORDS), x_AD) + np.log(trained.prior(column))
    return np.array(values, dtype=object)[log_p.argmax(1)]


def classifier(seed: int) -> SoftmaxClassifier:
    return SoftmaxClassifier(epochs=4, batch_size=256, lr=20.0, damping=0.012, margin=0.0, l2=0.0, seed=seed)


def regression(learned_nD: np.ndarray, known: np.ndarray, judged_nD: np.ndarray) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(learned_nD, known).predict(judged_nD)


def tfidf(train: EncodedCorpus, judged: EncodedCorpus, V: int) -> tuple:
    from sklearn.feature_extraction.text import TfidfTransformer

    counts = count_table(train, V)
    weigh = TfidfTransformer(sublinear_tf=True).fit(counts)
    return weigh.transform(counts), weigh.transform(count_table(judged.heads(WORDS), V))


def commonest(values: np.ndarray) -> str:
    names, counts = np.unique(values.astype(str), return_counts=True)
    return str(names[counts.argmax()])
