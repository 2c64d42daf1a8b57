"""1000-way authorship attribution by cross-validation (section 4.3): tf-idf, with document vectors beside it.

n posts, K word dim, F factors, D attribute dim, A attributes, V vocabulary.

Nothing of a test fold is used before it is scored: idf, the choice of tokens, the scaling of dense features and the
predictor of attributes are fitted on the fold's training posts. The word vectors come from other authors' posts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor
from torch.nn import functional

from atd.ragged import Ragged
from atd.softmax_classifier import Features, SoftmaxClassifier
from atd.vocabulary import UNK_ID
from tasks.engine.files import write_atomically
from tasks.learning.tfidf import TfIdf

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from atd.lm import LogBilinearLM, MultiplicativeLM

TFIDF, INFERRED = "tfidf", "+inferred"


@dataclass
class Posts:
    """The posts to attribute. `attribute` is the id of the author's tuple among `x_AD`, which the predictor learns."""

    counts: csr_matrix  # n × tokens as written
    author: np.ndarray
    attribute: np.ndarray
    x_AD: np.ndarray  # the model's vector of every attribute
    vectors: Mapping[str, np.ndarray]  # n×K document vectors by row name; the same in every fold


@dataclass(frozen=True)
class Settings:
    classifier: Mapping[str, Any]
    predictor: Mapping[str, Any]
    min_df: int
    dense: float  # norm of a typical dense block beside the unit norm of tf-idf
    weights: str  # of the attribute vectors in an inferred one: log | probability
    crossfit: int  # parts of a training fold whose attributes are predicted by the others


@torch.inference_mode()
def bags(W_VH: Tensor, texts: Ragged) -> Tensor:
    """The sum of the rows of W of each text's words (n×H); unknown words have no part in it."""
    weight = torch.from_numpy((texts.tokens != UNK_ID).astype(np.float32)).to(W_VH.dtype)
    ids, offsets = texts.flat
    return functional.embedding_bag(ids, W_VH.detach(), offsets[:-1], mode="sum", per_sample_weights=weight)


@torch.inference_mode()
def document_vectors(atd: MultiplicativeLM, lbl: LogBilinearLM, texts: Ragged, x_nD: Tensor) -> dict[str, np.ndarray]:
    """Sums of word vectors to unit norm: of R, of W_fvᵀ W_fk, and of W_fvᵀ diag(W_fd x) W_fk with each post's own x."""
    factors_nF = bags(atd.W_fv, texts)
    sums = {
        "lbl": bags(lbl.R, texts),
        "unconditioned": factors_nF @ atd.W_fk,
        "conditioned": (factors_nF * atd.gate(x_nD)) @ atd.W_fk,
    }
    return {name: functional.normalize(v, dim=1).numpy() for name, v in sums.items()}


def rows_of(vectors: Mapping[str, np.ndarray]) -> list[str]:
    """tfidf, tfidf+<vectors>, and each with the inferred attribute vector."""
    plain = [TFIDF, *(f"{TFIDF}+{name}" for name in vectors)]
    return [row + extra for row in plain for extra in ("", INFERRED)]


def score_fold(posts: Posts, train: np.ndarray, test: np.ndarray, settings: Settings, seed: int) -> dict[str, float]:
    """Accuracy in per cent of every row on one fold, and of what is beside them."""
    torch.set_num_threads(1)  # folds run side by side
    tfidf = TfIdf(settings.min_df).fit(posts.counts[train])
    S, S_test = (tfidf.transform(posts.counts[part]) for part in (train, test))
    y, y_test = posts.author[train], posts.author[test]
    z, z_test, right = inferred_vectors(posts, S, train, S_test, test, settings, seed)
    scores = {
        "metadata": 100 * float((majority(posts.attribute[train], y, posts.attribute[test]) == y_test).mean()),
        "predicted attribute": right,
    }

    def accuracy(X: Features, X_test: Features) -> float:
        """Of a classifier that is gone before the next comes: on the full corpus one has 4 GB of weights."""
        return 100 * SoftmaxClassifier(**settings.classifier, seed=seed).fit(X, y).score(X_test, y_test)

    own = np.eye(len(posts.x_AD), dtype=np.float32)
    known = (sparse.hstack([s, own[posts.attribute[p]]]) for s, p in ((S, train), (S_test, test)))
    scores[f"{TFIDF}+metadata"] = accuracy(*known)
    for row in rows_of(posts.vectors):
        name = row.removesuffix(INFERRED).partition("+")[2]
        blocks = [(posts.vectors[name][train], posts.vectors[name][test])] if name else []
        blocks += [(z, z_test)] if row.endswith(INFERRED) else []
        H, H_test = side_by_side(blocks, settings.dense, len(train), len(test))
        scores[row] = accuracy((S, H), (S_test, H_test))
    return scores


def keep_fold(path: Path, *fold: Any) -> None:
    write_atomically(path, json.dumps(score_fold(*fold), indent=1))


def inferred_vectors(
    posts: Posts,
    S: csr_matrix,
    train: np.ndarray,
    S_test: csr_matrix,
    test: np.ndarray,
    settings: Settings,
    seed: int,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Attribute vectors (n×D) of training and test posts from predicted attributes, and the predictor's accuracy.

    A predictor knows its own training posts by heart, and would give them vectors far surer than those of test posts.
    So each part of the training posts is predicted from the other parts.
    """
    a = posts.attribute[train]
    part = np.random.default_rng(seed).permutation(len(a)) % settings.crossfit
    z = np.zeros((len(a), posts.x_AD.shape[1]), np.float32)
    for i in range(settings.crossfit):
        others = part != i if settings.crossfit > 1 else np.ones(len(a), dtype=bool)
        model = SoftmaxClassifier(**settings.predictor, seed=seed).fit(S[others], a[others])
        z[part == i] = average(model, S[part == i], posts.x_AD, settings.weights)
    model = SoftmaxClassifier(**settings.predictor, seed=seed).fit(S, a)
    return z, average(model, S_test, posts.x_AD, settings.weights), 100 * model.score(S_test, posts.attribute[test])


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


def cross_validate(
    posts: Posts,
    folds: Sequence[tuple[np.ndarray, np.ndarray]],
    settings: Settings,
    seed: int,
    workers: int,
    folder: Path,
    resumed: bool = False,
) -> dict[str, np.ndarray]:
    """Every row's accuracy on every fold. Folds run side by side, one thread each; `folder` keeps those that are done,
    and a resumed run takes them from there."""
    from joblib import Parallel, delayed
    from rich.progress import track

    folder.mkdir(exist_ok=True)
    paths = [folder / f"{i}.json" for i in range(len(folds))]
    todo = [(path, *fold) for path, fold in zip(paths, folds, strict=True) if not (resumed and path.exists())]
    jobs = (delayed(keep_fold)(path, posts, train, test, settings, seed) for path, train, test in todo)
    with_maps = Parallel(n_jobs=workers, return_as="generator")  # large arrays are memory-mapped, not copied
    for _ in track(with_maps(jobs), "folds", total=len(folds), completed=len(folds) - len(todo)):
        pass
    scores = [json.loads(path.read_text()) for path in paths]
    return {row: np.array([s[row] for s in scores]) for row in scores[0]}


def compare(a: np.ndarray, b: np.ndarray, test_share: float) -> tuple[float, float, float]:
    """Mean of a − b over folds, the paired t-test's p, and p corrected for the overlap of training folds.

    Folds share training posts, so the plain test is too sure; Nadeau and Bengio widen the variance by the ratio of
    test to training posts.
    """
    from scipy import stats

    d = a - b
    n, s = len(d), float(d.std(ddof=1))
    if s == 0:
        return float(d.mean()), 1.0, 1.0
    plain, corrected = (d.mean() / (s * np.sqrt(v)) for v in (1 / n, 1 / n + test_share / (1 - test_share)))
    return float(d.mean()), *(float(2 * stats.t.sf(abs(t), n - 1)) for t in (plain, corrected))
