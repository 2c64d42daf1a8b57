"""Scores that count words: tf-idf, latent semantic indexing, and a unigram model of each reviewer.

P papers, R reviewers, T papers asked for, V words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tasks.matching.parts import Group, by_parts, unit
from tasks.matching.study import Profiles, Scorer

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

NEAREST: dict[str, int | None] = {"nearest": 1, "nearest 3": 3, "nearest 5": 5, "all": None}  # papers that count
FEATURES: dict[str, dict] = {
    "words": {},
    "words but stop words": {"stop_words": "english"},
    "words and pairs but stop words": {"stop_words": "english", "ngram_range": (1, 2)},
}
DIMENSIONS = (100, 200, 400)
SMOOTHING = (1000.0, 3000.0, 10000.0)  # words of the mean text that are added to a reviewer's


def by_papers(alike_PP: np.ndarray) -> dict[str, Scorer]:
    """Scores from how alike papers are: a reviewer is his papers, the nearest few of them or all."""

    def scorer(most: int | None) -> Scorer:
        def score(profiles: Profiles, asked: np.ndarray) -> np.ndarray:
            near = [np.sort(alike_PP[asked][:, own], 1)[:, -(most or len(own)) :] for own in profiles]
            return np.stack([near_TN.mean(1) for near_TN in near], 1)

        return score

    return {name: scorer(most) for name, most in NEAREST.items()}


def named(options: Mapping[str, Mapping[str, Scorer]]) -> dict[str, Scorer]:
    """Options of options, as one."""
    return {f"{outer}, {inner}": scorer for outer, found in options.items() for inner, scorer in found.items()}


def cosine(x_PD: csr_matrix | np.ndarray) -> np.ndarray:
    """Of all papers (P×P)."""
    from sklearn.preprocessing import normalize

    x_PD = normalize(x_PD)
    alike_PP = x_PD @ x_PD.T
    return np.asarray(alike_PP if isinstance(alike_PP, np.ndarray) else alike_PP.toarray(), np.float64)


def weighted(texts: Sequence[str], features: str) -> csr_matrix:
    """tf-idf with dampened counts, idf over all papers."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(sublinear_tf=True, **FEATURES[features]).fit_transform(texts)


def tfidf(texts: Sequence[str]) -> dict[str, Scorer]:
    return named({name: by_papers(cosine(weighted(texts, name))) for name in FEATURES})


def reduced(texts: Sequence[str], seed: int) -> dict[str, np.ndarray]:
    """The leading singular vectors of tf-idf, of several sizes (P×D)."""
    from sklearn.decomposition import TruncatedSVD

    x_PV = weighted(texts, "words but stop words")
    sizes = [D for D in DIMENSIONS if min(x_PV.shape) > D] or [min(x_PV.shape) - 1]
    return {f"{D} dimensions": TruncatedSVD(D, random_state=seed).fit_transform(x_PV) for D in sizes}


def lsi(texts: Sequence[str], seed: int) -> dict[str, Scorer]:
    return named({name: by_papers(cosine(x_PD)) for name, x_PD in reduced(texts, seed).items()})


def lsi_mixture(texts: Sequence[str], seed: int, components: int) -> dict[str, Scorer]:
    """Reviewers as several vectors without our model: the nearest of the mean directions of groups of papers."""

    def option(x_PD: np.ndarray, J: int) -> Scorer:
        def cosines(asked: np.ndarray, groups: list[Group]) -> np.ndarray:
            mean_GD = np.stack([x_PD[list(group)].mean(0) for group in groups])
            return x_PD[asked] @ unit(mean_GD).T

        return by_parts(lambda: x_PD, J, cosines)

    sizes = range(2, components + 1)
    found = {name: unit(x_PD) for name, x_PD in reduced(texts, seed).items()}
    return named({name: {f"J = {J}": option(x_PD, J) for J in sizes} for name, x_PD in found.items()})


def unigram(texts: Sequence[str]) -> dict[str, Scorer]:
    """The mean log-likelihood ratio of a word: the reviewer's own counts, smoothed by all text, against all text."""
    from sklearn.feature_extraction.text import CountVectorizer

    count_PV = CountVectorizer().fit_transform(texts).astype(np.float64).tocsr()
    all_V = np.asarray(count_PV.sum(0))[0]
    share_V = all_V / all_V.sum()

    def scorer(mu: float) -> Scorer:
        def score(profiles: Profiles, asked: np.ndarray) -> np.ndarray:
            own_RV = np.stack([np.asarray(count_PV[own].sum(0))[0] for own in profiles])
            log_ratio_RV = np.log1p(own_RV / (mu * share_V)) - np.log1p(own_RV.sum(1, keepdims=True) / mu)
            words_T = np.maximum(np.asarray(count_PV[asked].sum(1)), 1)
            return np.asarray(count_PV[asked] @ log_ratio_RV.T) / words_T

        return score

    return {f"{mu:g} words added": scorer(mu) for mu in SMOOTHING}
