"""Likelihoods of training texts, from models that have not seen them: what a classifier may learn from.

A model that has learned a text knows its author by heart, and a classifier that is shown what it says trusts it too
far. So one model learns each half of the training texts. It judges the other half; all other texts are judged by both,
and their scores averaged.

n texts, A authors.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from atd.encoded import EncodedCorpus
from atd.ragged import Ragged
from tasks.authors.counts import counted, summed
from tasks.authors.gate import checkpoint_of, learned
from tasks.authors.study import JUDGED, Study
from tasks.engine.rows import Outcome

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from tasks.authors.settings import Settings

Scores = Callable[[Ragged], np.ndarray]


def gate_evidence(study: Study, cfg: DictConfig, task: Settings, out: Path, seed: int) -> Outcome:
    """log P(text | author) by the multiplicative model with its memory."""

    def learn(half: int, rows: np.ndarray) -> Scores:
        name = half_of(out, half, seed, task).parent.name
        judge, _ = learned(study, study.training(rows=rows), cfg, task, out, name, seed)
        return lambda texts: judge.scores(texts)[0]

    return Outcome(arrays=crossed(study.open(), "words", learn))


def half_of(out: Path, half: int, seed: int, task: Settings) -> Path:
    """The model that learned one half of the training texts."""
    return out / "checkpoints" / checkpoint_of(f"half{half}", seed, task) / "best.ckpt"


def counts_evidence(study: Study, order: int, seed: int) -> Outcome:
    """The same by Kneser–Ney n-grams of words."""

    def learn(half: int, rows: np.ndarray) -> Scores:
        model = counted(study, "words", order, rows)
        return lambda texts: summed(model, texts)

    return Outcome(arrays=crossed(study.open(), "words", learn))


def crossed(study: Study, unit: str, learn: Callable[[int, np.ndarray], Scores]) -> dict[str, np.ndarray]:
    """The scores of all parts and of the training texts; `learn` is told the half and its texts."""
    train, half_n = study.part(unit, "train"), halves(study.labels("train"))
    assert isinstance(train, EncodedCorpus)
    arrays: dict[str, np.ndarray] = {"train": np.zeros((len(train), len(study.authors)), np.float32)}
    for half in (0, 1):
        scores = learn(half, np.flatnonzero(half_n == half))
        arrays["train"][half_n != half] = scores(train.take(half_n != half))
        for part in JUDGED:
            arrays[part] = arrays.get(part, 0) + scores(study.part(unit, part)) / 2
    return arrays


def halves(label_n: np.ndarray) -> np.ndarray:
    """0 or 1 for every text, drawn so that each author's texts are in both, as many in one as in the other (n)."""
    drawn = np.random.default_rng(0).permutation(len(label_n))
    order = drawn[np.argsort(label_n[drawn], kind="stable")]  # author after author
    half_n = np.empty(len(label_n), np.int64)
    half_n[order] = np.arange(len(label_n)) % 2
    return half_n
