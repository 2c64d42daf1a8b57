"""What is known to be true in generated text, and what the tests and intervals say: calibration, coverage, power.

W words tested, V vocabulary, K word dim.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from atd.effects import Effects, effects
from atd.effects.permutations import discoveries
from atd.ragged import Ragged, offsets_of
from tasks.effects import rivals
from tasks.effects.planted import FUNCTION, World, draw, world
from tasks.effects.settings import Settings

RATES = (0.05, 0.1, 0.2)  # shares of false discoveries at which power is read off
PART = 10  # samples in one text of those that the truth comes from: long enough for any bias to be small


@dataclass(frozen=True)
class Scores:
    """How one method ranks words, and what it declares found, if it has a test."""

    score_W: np.ndarray
    changed_W: np.ndarray  # the truth
    p_W: np.ndarray | None = None

    def curve(self) -> tuple[np.ndarray, np.ndarray]:
        """(share of false ones, share of the changed words) among the first k words, for all k."""
        hit_W = self.changed_W[np.argsort(-self.score_W, kind="stable")]
        number_W = np.arange(1, len(hit_W) + 1)
        return 1 - np.cumsum(hit_W) / number_W, np.cumsum(hit_W) / max(hit_W.sum(), 1)

    def power(self, rate: float) -> float:
        """The most changed words that a list with at most this share of false ones holds."""
        false_W, power_W = self.curve()
        return float(power_W[false_W <= rate].max(initial=0))

    def declared(self) -> tuple[float, float, float]:
        """(power, false share among those found, share of unchanged words with p < 5 %) at a nominal rate of 5 %."""
        assert self.p_W is not None
        found_W = discoveries(self.p_W) <= 0.05
        false = (found_W & ~self.changed_W).sum() / max(found_W.sum(), 1)
        return float(found_W[self.changed_W].mean()), float(false), float((self.p_W[~self.changed_W] < 0.05).mean())


def planted(task: Settings, seed: int, share: float, tilt: float = 0.0) -> World:
    return world(seed, V=task.V, subjects=task.subjects, pairs=task.pairs, share=share, tilt=tilt)


def vectors(task: Settings, texts: Ragged, of: World) -> np.ndarray:
    """By counting, without the values; the planted pairs have none."""
    vectors_VK = rivals.count_vectors(texts, of.V, task.K, task.reach)
    vectors_VK[of.planted] = 0
    return vectors_VK


def found_in(task: Settings, texts: Ragged, value_n: np.ndarray, vectors_VK: np.ndarray, **more) -> Effects:
    return effects(texts, value_n, vectors_VK, min_documents=task.min_documents, reach=task.reach, **more)


def shuffled(task: Settings, documents: int, seed: int) -> list[np.ndarray]:
    """p of all words, once for each shuffle of the values."""
    random = np.random.default_rng(seed)
    of = planted(task, seed, share=0.0)
    texts, value_n = draw(of, documents, random)
    vectors_VK = vectors(task, texts, of)
    measure = found_in(task, texts, value_n, vectors_VK).measure
    shuffles = (random.permutation(value_n) for _ in range(task.shuffles))
    return [found_in(task, texts, v, vectors_VK, measure=measure).p_W for v in shuffles]


def covered(task: Settings, documents: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(whether the interval of each planted word covers, the error of each effect as a share of the truth).

    One measure for all samples. The true effects in it are means over texts that together are `truth` times as long.
    """
    random = np.random.default_rng(seed)
    of = planted(task, seed, share)
    texts, value_n = draw(of, documents, random)
    vectors_VK = vectors(task, texts, of)
    measure = found_in(task, texts, value_n, vectors_VK).measure
    same: dict[str, Any] = {"measure": measure, "words": of.planted}
    total_V, number_V = np.zeros(of.V), np.zeros(of.V)
    for _ in range(-(-task.truth // PART)):
        large = found_in(task, *_together([draw(of, documents, random) for _ in range(PART)]), vectors_VK, **same)
        total_V[large.words_W] += large.effect_W
        number_V[large.words_W] += 1
    covers, errors = [], []
    for _ in range(task.samples):
        found = found_in(task, *draw(of, documents, random), vectors_VK, **same)
        true_W = total_V[found.words_W] / number_V[found.words_W]
        covers.append((found.low_W <= true_W) & (true_W <= found.high_W))
        errors.append((found.effect_W - true_W) / true_W)
    return np.concatenate(covers), np.concatenate(errors)


def ranked(task: Settings, documents: int, share: float, seed: int) -> Iterator[tuple[str, Scores]]:
    """(method, its scores) on one text."""
    of = planted(task, seed, share)
    texts, value_n = draw(of, documents, np.random.default_rng(seed))
    vectors_VK = vectors(task, texts, of)
    content = np.arange(FUNCTION, of.V)  # function words have no company of their own here, and spaces lose them
    found = found_in(task, texts, value_n, vectors_VK, words=content)
    words_W = found.words_W
    changed_W = np.isin(words_W, of.planted)
    yield "effects", Scores(-np.log(np.maximum(found.p_W, 1e-300)), changed_W, found.p_W)
    p_W = found_in(task, texts, value_n, vectors_VK, words=content, subject=False).p_W
    yield "effects, subject left in", Scores(-np.log(np.maximum(p_W, 1e-300)), changed_W, p_W)
    asked = (texts, value_n, vectors_VK, words_W, task.permutations, task.reach)
    p_W, length_W, ratio_W = rivals.regression(*asked)
    yield "regression", Scores(first_by(p_W, length_W), changed_W, p_W)  # as conText reports it
    yield "regression, over noise", Scores(first_by(p_W, ratio_W), changed_W, p_W)
    p_W, _, ratio_W = rivals.regression(*asked, documents=True)
    yield "regression, documents", Scores(first_by(p_W, ratio_W), changed_W, p_W)
    count_W = np.bincount(texts.tokens, minlength=of.V)[words_W]
    turned_W = rivals.procrustes(texts, value_n, of.V, task.K, words_W, task.reach)
    moved_W = rivals.compass(texts, value_n, of.V, task.K, words_W, seed, task.epochs, task.reach)
    for name, distance_W in (("procrustes", turned_W), ("compass", moved_W)):
        yield name, Scores(distance_W, changed_W)
        yield f"{name}, by frequency", Scores(rivals.beyond_frequency(distance_W, count_W), changed_W)


def first_by(p_W: np.ndarray, size_W: np.ndarray) -> np.ndarray:
    """Small p first, and where p are equal, large sizes."""
    rank_W = np.empty(len(p_W))
    rank_W[np.lexsort([size_W, -p_W])] = np.arange(len(p_W))
    return rank_W


def tilted(task: Settings, documents: int, share: float, seed: int) -> dict[str, Scores]:
    """With and without the subject taken out, where the two values speak of different subjects."""
    of = planted(task, seed, share, task.tilt)
    texts, value_n = draw(of, documents, np.random.default_rng(seed))
    vectors_VK = vectors(task, texts, of)
    out = {}
    for name, subject in (("subject taken out", True), ("subject left in", False)):
        found = found_in(task, texts, value_n, vectors_VK, subject=subject)
        out[name] = Scores(-np.log(found.p_W + 1e-300), np.isin(found.words_W, of.planted), found.p_W)
    return out


def _together(parts: list[tuple[Ragged, np.ndarray]]) -> tuple[Ragged, np.ndarray]:
    tokens = np.concatenate([texts.tokens for texts, _ in parts])
    lengths = np.concatenate([texts.lengths for texts, _ in parts])
    return Ragged(tokens, offsets_of(lengths)), np.concatenate([value_n for _, value_n in parts])
