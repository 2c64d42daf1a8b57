"""The row atd-best: several tree encoders, and what other rows can add to them."""

from __future__ import annotations

import numpy as np

from tasks.engine.rows import Outcome, Store
from tasks.sentiment.scores import accuracies
from tasks.sentiment.study import HELD_OUT, Study, arrays_of, judged

WEIGHTS = (0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)  # of a further row beside the tree encoders


def ensemble(study: Study, store: Store, seed: int) -> Outcome:
    """The mean opinion of this seed's tree encoders; val says how much the other rows of the seed may add."""
    task = study.task
    i = study.seeds("atd-best").index(seed)
    members = study.seeds("atd-tree")[i * task.members : (i + 1) * task.members]
    trees = [store.load("atd-tree", member) for member in members]
    opinions = [arrays_of(tree, "logp") for tree in trees]
    logp = {split: np.mean([opinion[split] for opinion in opinions], 0) for split in HELD_OUT}
    label = study.labels["val"]
    chosen: dict[str, float] = {"members": len(trees)}
    for row in task.stack:
        if row not in task.rows:
            continue
        own = seed if seed in study.seeds(row) else study.seeds(row)[0]  # a row without chance has one
        other = arrays_of(store.load(row, own), "logp")
        mixed = {w: {split: logp[split] + w * other[split] for split in HELD_OUT} for w in WEIGHTS}
        chosen[row] = max(WEIGHTS, key=lambda w: (sum(accuracies(mixed[w]["val"], label)), -w))
        logp = mixed[chosen[row]]
    vectors = [arrays_of(tree, "x") for tree in trees]
    x = {split: np.concatenate([v[split] for v in vectors], 1) for split in HELD_OUT}
    return judged(study, logp, x, chosen)
