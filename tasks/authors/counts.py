"""Authors by counts: Kneser–Ney n-grams of all text, mixed with those of each author's own.

n texts, A authors.
"""

from __future__ import annotations

import numpy as np

from atd.ngram_mixture import AttributeKneserNey
from atd.ragged import Ragged
from tasks.authors.study import JUDGED, Study
from tasks.engine.rows import Outcome

TUNING = 200_000  # units of validation text by which the author's share of the counts is found
AT_ONCE = 2_500_000  # probabilities alive at once


def by_counts(study: Study, unit: str, order: int, seed: int) -> Outcome:
    """Kneser–Ney n-grams of all text, mixed with those of the author's own."""
    study.open()
    model = counted(study, unit, order)
    return Outcome(arrays={part: summed(model, study.part(unit, part)) for part in JUDGED})


def counted(study: Study, unit: str, order: int, rows: np.ndarray | None = None) -> AttributeKneserNey:
    """What the training texts say, or `rows` of them."""
    train, val, label = study.part(unit, "train"), study.part(unit, "val"), study.labels("train")
    if rows is not None:
        train, label = train.take(rows), label[rows]
    V = len(study.corpora[unit].vocabulary)
    model = AttributeKneserNey(V, len(study.authors), order)
    model.fit(train.windows(order - 1), train.tokens.astype(np.int64), label[train.owner])
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
