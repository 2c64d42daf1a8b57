"""Attribution by the nearest author: a text's own vector, inferred from its words, beside the authors' vectors.

n texts, A authors.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from torch.nn import functional

from atd.inference import infer
from atd.lm import MultiplicativeLM
from atd.models import load
from atd.ragged import Ragged
from tasks.authors.evidence import Scores, crossed, half_of
from tasks.authors.study import JUDGED, Study
from tasks.engine.rows import Outcome

if TYPE_CHECKING:
    from tasks.authors.settings import Settings

SAMPLES = 500  # words that stand for the vocabulary
TOLERANCE = 1e-3
QUICK = {"samples": 128, "iterations": 2}  # for the many texts that a classifier learns from
L2 = 10.0  # of 0.1, 1 and 10 the best on validation posts of Blogs50


def by_nearest(study: Study, checkpoint: Path, seed: int) -> Outcome:
    """The cosine of a text's inferred vector and each author's (n×A)."""
    study.open()
    model = trained_gate(checkpoint)
    found = {
        part: cosines(model, study, study.part("words", part), samples=SAMPLES, tolerance=TOLERANCE) for part in JUDGED
    }
    return Outcome(arrays=found)


def vectors_evidence(study: Study, task: Settings, out: Path, seed: int) -> Outcome:
    """The same of training texts too, by models that have not seen them: those of `gate_evidence`."""

    def learn(half: int, rows: np.ndarray) -> Scores:
        model = trained_gate(half_of(out, half, seed, task))
        return lambda texts: cosines(model, study, texts, **QUICK)

    return Outcome(arrays=crossed(study.open(), "words", learn))


def trained_gate(checkpoint: Path) -> MultiplicativeLM:
    model = load(checkpoint).model
    assert isinstance(model, MultiplicativeLM)
    return model


def cosines(model: MultiplicativeLM, study: Study, texts: Ragged, **settings: Any) -> np.ndarray:
    """Of the vector that each text is inferred to have and each author's (n×A)."""
    x_AD = functional.normalize(study.vectors(model))
    if not len(texts):
        return np.zeros((0, len(x_AD)), np.float32)
    z_nD = infer(model, *texts.flat, l2=L2, **settings).x
    return (functional.normalize(z_nD) @ x_AD.T).numpy()
