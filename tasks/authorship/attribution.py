"""1000-way authorship attribution by cross-validation (section 4.3): tf-idf, with document vectors beside it.

n posts, D attribute dim, A attributes; S sparse and H dense features.

Nothing of a test fold is used before it is scored: idf, the choice of tokens, the scaling of dense features and the
predictor of attributes are fitted on the fold's training posts. The word vectors come from other authors' posts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from atd.softmax_classifier import Features, SoftmaxClassifier
from tasks.authorship.posts import Posts
from tasks.authorship.settings import Settings
from tasks.engine.rows import Outcome, Row, Store, run_rows
from tasks.learning.tfidf import TfIdf

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

TFIDF = "tfidf"
METADATA = "metadata"  # the tuple as a feature
INFERRED = "+inferred"
UNCONDITIONED = f"{TFIDF}+unconditioned"

Fold = tuple[np.ndarray, np.ndarray]  # the places of training and of test posts


def cross_validate(
    posts: Posts, folds: Sequence[Fold], task: Settings, seed: int, store: Store
) -> dict[str, np.ndarray]:
    """Every row's accuracy on every fold. Workers get the large arrays of the job as memory maps, not as copies."""
    job = partial(run_fold, posts, folds, task, seed)
    outcomes = run_rows([Row("fold", job, range(len(folds)))], store, task.workers)["fold"]
    return {row: np.array([outcome.scores[row] for outcome in outcomes]) for row in outcomes[0].scores}


def run_fold(posts: Posts, folds: Sequence[Fold], task: Settings, seed: int, number: int) -> Outcome:
    train, test = folds[number]
    return Outcome(score_fold(posts, train, test, task, seed))


def score_fold(posts: Posts, train: np.ndarray, test: np.ndarray, task: Settings, seed: int) -> dict[str, float]:
    """Accuracy in per cent of every row on one fold, and of what is beside them."""
    tfidf = TfIdf(task.min_df).fit(posts.counts[train])
    S, S_test = (tfidf.transform(posts.counts[part]) for part in (train, test))
    y, y_test = posts.author[train], posts.author[test]
    z, z_test, right = inferred_vectors(posts, S, train, S_test, test, task, seed)
    scores = {
        "metadata": 100 * float((majority(posts.attribute[train], y, posts.attribute[test]) == y_test).mean()),
        "predicted attribute": right,
    }

    def accuracy(X: Features, X_test: Features) -> float:
        """Of a classifier that is gone before the next comes: on the full corpus one has 4 GB of weights."""
        return 100 * SoftmaxClassifier(**asdict(task.classifier), seed=seed).fit(X, y).score(X_test, y_test)

    own = sparse.identity(len(posts.x_AD), np.float32, "csr")
    M, M_test = (sparse.hstack([s, own[posts.attribute[p]]], "csr") for s, p in ((S, train), (S_test, test)))
    for row in rows_of(posts.vectors):
        name = row.removesuffix(INFERRED).partition("+")[2]
        blocks = [(posts.vectors[name][train], posts.vectors[name][test])] if name in posts.vectors else []
        blocks += [(z, z_test)] if row.endswith(INFERRED) else []
        H, H_test = side_by_side(blocks, task.dense, len(train), len(test))
        scores[row] = accuracy((M, H), (M_test, H_test)) if name == METADATA else accuracy((S, H), (S_test, H_test))
    return scores


def rows_of(vectors: Mapping[str, np.ndarray]) -> list[str]:
    """tfidf, tfidf+<vectors>, tfidf+metadata, and each with the inferred attribute vector."""
    return [row + extra for row in plain_rows(vectors) for extra in ("", INFERRED)]


def plain_rows(vectors: Mapping[str, np.ndarray]) -> list[str]:
    return [TFIDF, *(f"{TFIDF}+{name}" for name in (*vectors, METADATA))]


def inferred_vectors(
    posts: Posts,
    S: csr_matrix,
    train: np.ndarray,
    S_test: csr_matrix,
    test: np.ndarray,
    task: Settings,
    seed: int,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Attribute vectors (n×D) of training and test posts from predicted attributes, and the predictor's accuracy.

    A predictor knows its own training posts by heart, and would give them vectors far surer than those of test posts.
    So each part of the training posts is predicted from the other parts.
    """
    a = posts.attribute[train]
    part = np.random.default_rng(seed).permutation(len(a)) % task.crossfit
    z = np.zeros((len(a), posts.x_AD.shape[1]), np.float32)
    for i in range(task.crossfit):
        others = part != i if task.crossfit > 1 else np.ones(len(a), dtype=bool)
        model = SoftmaxClassifier(**asdict(task.predictor), seed=seed).fit(S[others], a[others])
        z[part == i] = average(model, S[part == i], posts.x_AD, task.weights)
    model = SoftmaxClassifier(**asdict(task.predictor), seed=seed).fit(S, a)
    return z, average(model, S_test, posts.x_AD, task.weights), 100 * model.score(S_test, posts.attribute[test])


def average(model: SoftmaxClassifier, S: csr_matrix, x_AD: np.ndarray, weights: str) -> np.ndarray:
    """Attribute vectors averaged by the classifier's log-probabilities (the paper's words) or probabilities."""
    log_p = model.predict_log_proba(S)
    weight = log_p / log_p.shape[1] if weights == "log" else np.exp(log_p)
    return (weight @ x_AD[model.classes_]).astype(np.float32)


def side_by_side(
    blocks: Sequence[tuple[np.ndarray, np.ndarray]], norm: float, n_train: int, n_test: int
) -> tuple[np.ndarray, np.ndarray]:
    """Dense blocks of (train, test) posts joined, each column centred and scaled as the training posts have it."""
    scaled = [(np.zeros((n_train, 0), np.float32), np.zeros((n_test, 0), np.float32))]
    for train, test in blocks:
        mean, spread = train.mean(0), np.maximum(train.std(0), 1e-6)
        factor = norm / (spread * np.sqrt(train.shape[1]))
        scaled.append(((train - mean) * factor, (test - mean) * factor))
    H, H_test = (np.concatenate(parts, axis=1).astype(np.float32) for parts in zip(*scaled, strict=True))
    return H, H_test


def majority(attribute: np.ndarray, author: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """The author with most training posts among those of the asked attribute: what metadata alone can tell."""
    pairs, count = np.unique(np.stack([attribute, author]), axis=1, return_counts=True)
    order = np.argsort(count, kind="stable")  # the last one written, with most posts, stays
    best = dict(zip(pairs[0, order].tolist(), pairs[1, order].tolist(), strict=True))
    overall = pairs[1, order[-1]]
    return np.array([best.get(a, overall) for a in asked.tolist()])


def difference(a: np.ndarray, b: np.ndarray, test_share: float) -> tuple[float, float, float]:
    """Mean of a − b over folds, the paired t-test's p, and p corrected for the overlap of training folds.

    Folds share training posts, so the plain test is too sure; Nadeau and Bengio widen the variance by the ratio of
    test to training posts.
    """
    from scipy import stats

    d = a - b
    n, s = len(d), float(d.std(ddof=1))
    if s == 0:
        return float(d.mean()), 1.0, 1.0
    overlap = test_share / (1 - test_share)
    plain, corrected = (d.mean() / (s * np.sqrt(v)) for v in (1 / n, 1 / n + overlap))
    p_plain, p_corrected = (float(2 * stats.t.sf(abs(t), n - 1)) for t in (plain, corrected))
    return float(d.mean()), p_plain, p_corrected


def interval(a: np.ndarray, b: np.ndarray, test_share: float) -> tuple[float, float, float]:
    """Mean of a − b over folds, and its 95 % interval with the variance of the corrected test above."""
    from scipy import stats

    d = a - b
    n, s = len(d), float(d.std(ddof=1))
    reach = float(stats.t.ppf(0.975, n - 1)) * s * np.sqrt(1 / n + test_share / (1 - test_share))
    return float(d.mean()), float(d.mean() - reach), float(d.mean() + reach)
