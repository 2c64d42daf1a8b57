"""Attribution by the nearest author: a text's own vector, inferred from its words, beside the authors' vectors.

n texts, A authors.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from torch.nn import functional

from atd.inference import infer
from atd.lm import MultiplicativeLM
from atd.models import load
from tasks.authors.study import JUDGED, Study
from tasks.engine.rows import Outcome

SAMPLES = 500  # words that stand for the vocabulary
TOLERANCE = 1e-3
L2 = 10.0  # of 0.1, 1 and 10 the best on validation posts of Blogs50


def by_nearest(study: Study, checkpoint: Path, seed: int) -> Outcome:
    """The cosine of a text's inferred vector and each author's (n×A)."""
    study.open()
    model = load(checkpoint).model
    assert isinstance(model, MultiplicativeLM)
    x_AD = functional.normalize(study.vectors(model))
    arrays = {}
    for part in JUDGED:
        texts = study.part("words", part)
        arrays[part] = np.zeros((0, len(x_AD)), np.float32)
        if len(texts):
            z_nD = infer(model, *texts.flat, samples=SAMPLES, tolerance=TOLERANCE, l2=L2).x
            arrays[part] = (functional.normalize(z_nD) @ x_AD.T).numpy()
    return Outcome(arrays=arrays)
