"""What tells authors apart: each row gives every text a score for every author.

n texts, A authors, T units of text, N context.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from atd.ngram_mixture import AttributeKneserNey
from atd.ragged import Ragged
from atd.softmax_classifier import SoftmaxClassifier
from tasks.authors.gate import VECTORS, best_of, by_gate
from tasks.authors.nearest import by_nearest
from tasks.authors.study import JUDGED, Study
from tasks.engine.rows import Outcome, Row
from tasks.learning.doc2vec import infer_document, train_dbow

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from tasks.authors.settings import Settings

MEANING = {
    "atd": "one multiplicative model of words with a vector per author, and a memory of his phrases: the likelihood",
    VECTORS: "the same without the memory",
    "kneser-ney-characters": "counts of character n-grams, all text mixed with the author's own: the likelihood",
    "kneser-ney-words": "the same of word n-grams",
    "char-ngrams": "tf-idf of character 2- to 5-grams, linear classifier",
    "word-ngrams": "tf-idf of words and pairs of words, linear classifier",
    "char-svm": "tf-idf of character 2- to 5-grams, LinearSVC: what others report",
    "nearest": "the author's vector that is nearest to the text's own, which is inferred from its words",
    "doc2vec": "gensim's paragraph vectors (DBOW), regression",
    "shuffled": "atd, authors dealt to the training texts at random",
}
TUNING = 200_000  # units of validation text by which the author's share of the counts is found
AT_ONCE = 2_500_000  # probabilities alive at once
MANY = 1_000_000  # pairs of text and author from which on our classifier is better than LinearSVC, and far faster
CLASSIFIER: dict[str, Any] = {"epochs": 4, "lr": 40.0, "margin": 20.0}  # ours
FEATURES = 200_000  # most n-grams


def rows_of(study: Study, cfg: DictConfig, task: Settings, out: Path) -> list[Row]:
    """The rows that the settings name."""
    seeds = range(cfg.seed, cfg.seed + task.seeds)
    checkpoint = best_of(out, cfg.seed, task)
    ways: dict[str, tuple[Callable[[int], Outcome], range | tuple[int]]] = {
        "atd": (partial(by_gate, study, cfg, task, out, False), seeds),
        "shuffled": (partial(by_gate, study, cfg, task, out, True), (cfg.seed,)),
        "kneser-ney-characters": (partial(by_counts, study, "characters", task.order.characters), (0,)),
        "kneser-ney-words": (partial(by_counts, study, "words", task.order.words), (0,)),
        "char-ngrams": (partial(by_ngrams, study, "char-ngrams"), (0,)),
        "word-ngrams": (partial(by_ngrams, study, "word-ngrams"), (0,)),
        "nearest": (partial(by_nearest, study, checkpoint), (cfg.seed,)),
        "char-svm": (partial(by_ngrams, study, "char-ngrams", svm=True), (0,)),
        "doc2vec": (partial(by_doc2vec, study), (cfg.seed,)),
    }
    after = {"nearest": ("atd",)}  # it takes the vectors of that row
    return [Row(name, *ways[name], after=after.get(name, ())) for name in [*task.rows, *task.controls]]


def by_counts(study: Study, unit: str, order: int, seed: int) -> Outcome:
    """Kneser–Ney n-grams of all text, mixed with those of the author's own."""
    study.open()
    model = counted(study, unit, order)
    return Outcome(arrays={part: summed(model, study.part(unit, part)) for part in JUDGED})


def counted(study: Study, unit: str, order: int) -> AttributeKneserNey:
    train, val = study.part(unit, "train"), study.part(unit, "val")
    V = len(study.corpora[unit].vocabulary)
    model = AttributeKneserNey(V, len(study.authors), order)
    model.fit(train.windows(order - 1), train.tokens.astype(np.int64), study.labels("train")[train.owner])
    some = np.arange(min(TUNING, len(val.tokens)))
    author = study.labels("val")[val.owner[some]]
    return model.tune(val.windows(order - 1, some), val.tokens[some].astype(np.int64), author)


def summed(model: AttributeKneserNey, texts: Ragged) -> np.ndarray:
    """log P(text | author) (n×A)."""
    out = np.zeros((len(texts), model.A))
    owner = texts.owner
    rows = max(1, AT_ONCE // model.A)
    for first in range(0, len(texts.tokens), rows):
        at = np.arange(first, min(first + rows, len(texts.tokens)))
        log_p = model.under_every(texts.windows(model.all.order - 1, at), texts.tokens[at].astype(np.int64))
        which, start = np.unique(owner[at], return_index=True)
        out[which] += np.add.reduceat(log_p, start, axis=0)
    return out.astype(np.float32)


def by_ngrams(study: Study, kind: str, seed: int, svm: bool = False) -> Outcome:
    """tf-idf and a linear classifier; `svm`: scikit-learn's, however many texts there are."""
    study.open()
    label = study.labels("train")
    features = vectoriser(kind, len(label))
    X = features.fit_transform(study.strings("train"))
    classifier = support_vectors() if svm or len(label) * len(study.authors) < MANY else SoftmaxClassifier(**CLASSIFIER)
    return Outcome(arrays=classified(study, features, classifier.fit(X, label)))


def support_vectors() -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(C=1.0, tol=0.01, random_state=0)


def classified(study: Study, features: Any, classifier: Any) -> dict[str, np.ndarray]:
    """The score of every author for the texts of every part."""
    arrays = {}
    for part in JUDGED:
        texts = study.strings(part)
        found = classifier.decision_function(features.transform(texts)) if texts else np.zeros((0, 0))
        arrays[part] = columns(found, classifier.classes_, len(study.authors))
    return arrays


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


def by_doc2vec(study: Study, seed: int) -> Outcome:
    """gensim's paragraph vectors, inferred for all texts alike, and a regression on them."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    study.open()
    words = study.corpora["words"].vocabulary.words

    def lists(part: str) -> list[list[str]]:
        texts = study.part("words", part)
        return [[words[i] for i in texts[d]] for d in range(len(texts))]

    model = train_dbow(lists("train"), D=200, window=5, min_count=2, epochs=20, seed=seed)
    vectors = {
        part: np.array([infer_document(model, text, epochs=20) for text in lists(part)]) for part in ("train", *JUDGED)
    }
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    classifier.fit(vectors["train"], study.labels("train"))
    found = {part: classifier.decision_function(x) if len(x) else x for part, x in vectors.items() if part in JUDGED}
    return Outcome(arrays={part: columns(s, classifier.classes_, len(study.authors)) for part, s in found.items()})
