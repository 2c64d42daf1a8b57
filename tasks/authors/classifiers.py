"""Authors by linear classifiers: of n-grams, and of n-grams beside likelihoods.

n texts, A authors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from atd.softmax_classifier import SoftmaxClassifier
from tasks.authors.mixture import centred
from tasks.authors.study import JUDGED, Study
from tasks.engine.rows import Outcome, Store

MANY = 1_000_000  # pairs of text and author from which on our classifier is better than LinearSVC, and far faster
CLASSIFIER: dict[str, Any] = {"epochs": 4, "lr": 40.0, "margin": 20.0}  # ours
FEATURES = 200_000  # most n-grams
NGRAMS = ("char-ngrams", "word-ngrams")
VECTORS = "evidence-vectors"  # the evidence that is no likelihood
WEIGHT = 1.0  # of the evidence beside n-grams of unit norm


def by_ngrams(study: Study, kind: str, seed: int, svm: bool = False) -> Outcome:
    """tf-idf and a linear classifier; `svm`: scikit-learn's, however many texts there are."""
    study.open()
    label = study.labels("train")
    features = vectoriser(kind, len(label))
    X = features.fit_transform(study.strings("train"))
    classifier = support_vectors() if svm else suitable(len(label) * len(study.authors))
    classifier.fit(X, label)
    texts = {part: study.strings(part) for part in JUDGED}
    return classified(study, classifier, {part: features.transform(found) for part, found in texts.items() if found})


def by_evidence(study: Study, store: Store, evidence: Sequence[str], seed: int) -> Outcome:
    """n-grams of both kinds, and what the rows `evidence` found, in one linear classifier."""
    study.open()
    label, parts = study.labels("train"), ("train", *JUDGED)
    features = [vectoriser(kind, len(label)) for kind in NGRAMS]
    texts = {part: study.strings(part) for part in parts}
    blocks = {"train": [one.fit_transform(texts["train"]) for one in features]}
    blocks |= {part: [one.transform(texts[part]) for one in features] for part in JUDGED if texts[part]}
    for name in evidence:
        found = store.load(name, seed).arrays
        told = {part: centred(found[part]) if name == VECTORS else per_root(found[part], study.lengths(part))
                for part in blocks}  # fmt: skip
        weight = WEIGHT / usual_length(told["train"])
        for part in blocks:
            blocks[part].append(sparse.csr_matrix((weight * told[part]).astype(np.float32)))
    X = {part: sparse.hstack(found, format="csr") for part, found in blocks.items()}
    classifier = suitable(len(label) * len(study.authors)).fit(X.pop("train"), label)
    return classified(study, classifier, X)


def per_root(s_nA: np.ndarray, words_n: np.ndarray) -> np.ndarray:
    """How much more each author says of a text than others; the longer a text, the less every word of it (n×A)."""
    return centred(s_nA) / np.sqrt(np.maximum(words_n, 1))[:, None]


def usual_length(told_nA: np.ndarray) -> float:
    return max(float(np.linalg.norm(told_nA, axis=1).mean()), 1e-6)


def suitable(pairs: int) -> Any:
    """The classifier for so many pairs of text and author."""
    return support_vectors() if pairs < MANY else SoftmaxClassifier(**CLASSIFIER)


def support_vectors() -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(C=1.0, tol=0.01, random_state=0)


def classified(study: Study, classifier: Any, X: Mapping[str, Any]) -> Outcome:
    """The score of every author for the texts of every part; a part without texts has no features."""
    arrays = {}
    for part in JUDGED:
        found = classifier.decision_function(X[part]) if part in X else np.zeros((0, 0))
        arrays[part] = columns(found, classifier.classes_, len(study.authors))
    return Outcome(arrays=arrays)


def vectoriser(kind: str, texts: int):
    """tf-idf of characters or of words and marks, as they were written."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    common = {"lowercase": False, "sublinear_tf": True, "dtype": np.float32}
    if kind == "char-ngrams":
        min_df = 5 if texts > 5000 else 2
        return TfidfVectorizer(analyzer="char", ngram_range=(2, 5), min_df=min_df, max_features=FEATURES, **common)
    return TfidfVectorizer(token_pattern=r"\w+|[^\w\s]+", ngram_range=(1, 2), min_df=2, **common)


def columns(found: np.ndarray, classes: np.ndarray, A: int) -> np.ndarray:
    """A classifier's scores, a column for every author; of two classes scikit-learn gives one column."""
    out = np.zeros((len(found), A), np.float32)
    if len(found):
        out[:, classes] = np.stack([-found, found], 1) if found.ndim == 1 else found
    return out
