"""The rows: each scores every submission for every reviewer, in every version of the profiles.

R reviewers, T papers asked for, k versions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from omegaconf import OmegaConf

from atd.errors import AtdError
from tasks.engine.rows import Outcome, Row, Store
from tasks.learning.controls import Variant
from tasks.matching import counting
from tasks.matching.combination import combined, weights
from tasks.matching.counting import by_papers, cosine
from tasks.matching.settings import COMBINED, COUNTED, OF_A_MODEL
from tasks.matching.study import Profiles, Scorer, Study
from tasks.matching.vectors import Vectors, by_distance, by_likelihood, learn

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from datamodules.reviewers import Reviewers

GLOVE = 100  # dimension of the vectors that `glove` names
SEEDED = ("atd", "fulltext")  # models of several seeds; those that explain them have one
MEANING = {
    "atd": "one vector for each reviewer: likelihood and distance, weighted",
    "atd-likelihood": "how much likelier a submission is under the reviewer's vector than under none",
    "atd-distance": "the cosine of the submission's vector and the reviewer's",
    "atd-mixture": "several vectors for each reviewer, the best of which counts: likelihood and distance, weighted",
    "mixture-likelihood": "the likelihood alone",
    "mixture-distance": "the distance alone",
    "atd-papers": "a vector for each of his papers, the nearest or all of which count",
    "atd-fulltext": "as atd-papers, words learned from full texts too",
    "atd-pretrained": "as atd-papers, words start at pretrained vectors",
    "tfidf": "cosines of tf-idf with a reviewer's papers; words, pairs and stop words chosen by the proxy",
    "lsi": "the same in the leading singular vectors",
    "lsi-mixture": "several vectors for each reviewer there, the nearest of which counts",
    "unigram": "counts of a reviewer's words, smoothed: a language model without vectors, as in TPMS",
    "tfidf+lsi": "weighted: what a combination gives without our model",
    "tfidf+atd": "tf-idf and all scores of our model with one vector a reviewer or a paper",
    "tfidf+lsi+atd": "all of these",
    "shuffled": "atd-papers with the papers dealt to the reviewers at random",
    "random-gate": "as atd-papers, a random, fixed gate: only the words learned",
    "no-attribute": "the same score for all",
}


@dataclass(frozen=True)
class Reading:
    """How a row of a model is run."""

    study: Study
    out: Path
    opened: dict[str, Vectors] = field(default_factory=dict)  # by checkpoint: rows of a model share what was inferred

    def checkpoint(self, model: str, seed: int) -> str:
        return f"{model}-seed{seed}"

    def variant(self, model: str) -> Variant:
        config = dict(self.study.cfg.model)
        if model == "random-gate":
            return Variant({**config, "gated": True, "additive": False, "free": 0}, random_gate=True)
        if model == "pretrained":
            return Variant({**config, "vectors": self.pretrained(), "K": GLOVE})
        return Variant(config)

    def pretrained(self) -> str:
        """`glove` becomes the path of the file, found or downloaded."""
        from datamodules.vectors import find_glove

        if self.study.task.vectors is None:
            raise AtdError("task.vectors: atd-pretrained starts from word vectors; name a file or glove")
        glove = self.study.task.vectors == "glove"
        return str(find_glove(self.study.cfg.paths.data, GLOVE)) if glove else self.study.task.vectors

    def learned(self, model: str, seed: int) -> Outcome:
        """The row that only trains; what it leaves is a checkpoint."""
        data, cfg = self.data(model), self.study.cfg
        share = len(data.papers.tokens) / len(data.encoded["train"].tokens)
        if share < 1:  # a longer corpus is read in as many steps
            epochs = max(1, round(share * cfg.trainer.max_epochs))
            cfg = cast("DictConfig", OmegaConf.merge(cfg, {"trainer": {"max_epochs": epochs}}))
        learn(data, cfg, self.out, self.checkpoint(model, seed), seed, self.variant(model))
        return Outcome()

    def data(self, model: str) -> Reviewers:
        """The corpus that a model learns from."""
        return self.study.open(fulltext=self.study.task.fulltext) if model == "fulltext" else self.study.data

    def judged(self, row: str, seed: int) -> Outcome:
        model = OF_A_MODEL[row]
        name = self.checkpoint(model, seed)
        if name not in self.opened:
            self.opened[name] = Vectors.of(self.data(model), self.study.cfg, self.out, name)
        vectors = self.opened[name]
        return self.study.best(options_of(row, vectors, self.study, seed))

    def combined(self, row: str, seed: int) -> Outcome:
        store, first = Store(self.out / "rows"), self.study.cfg.seed
        parts = [store.load(part, first if part in COUNTED else seed) for part in COMBINED[row]]
        held = [part.arrays["held"] for part in parts]
        weight_M = weights(held, self.study.own_PR)
        folds = np.cumsum([len(fold.asked) for fold in self.study.folds])[:-1]
        split = [np.split(one, folds) for one in held]
        held_PR = np.concatenate([combined(tables, weight_M) for tables in zip(*split, strict=True)])
        versions = zip(*(part.arrays["scores"] for part in parts), strict=True)
        score_kSR = np.stack([combined(tables, weight_M) for tables in versions])
        facts = {"weights": dict(zip(COMBINED[row], weight_M.tolist(), strict=True))}
        return self.study.outcome(score_kSR, held_PR, self.study.proxy(held_PR), facts)


def options_of(row: str, vectors: Vectors, study: Study, seed: int) -> dict[str, Scorer]:
    """What the proxy chooses from."""
    sizes = range(2, study.task.components + 1) if row.startswith("mixture") else (1,)
    if row.endswith("likelihood"):
        return {f"J = {J}": by_likelihood(vectors, J) for J in sizes}
    if row.endswith("distance"):
        return {f"J = {J}": by_distance(vectors, J) for J in sizes}
    options = by_papers(cosine(vectors.x_PD))
    if row == "shuffled":
        return {name: partial(dealt, option, seed) for name, option in options.items()}
    return options


def dealt(scorer: Scorer, seed: int, profiles: Profiles, asked: np.ndarray) -> np.ndarray:
    """By profiles of the same sizes whose papers are dealt at random."""
    papers = np.random.default_rng(seed).permutation([paper for own in profiles for paper in own])
    ends = np.cumsum([len(own) for own in profiles])[:-1]
    return scorer([part.tolist() for part in np.split(papers, ends)], asked)


def counted(study: Study, row: str, seed: int) -> Outcome:
    """A row that learns no vectors."""
    texts = study.pool.texts
    if row == "no-attribute":
        return study.best({"nothing": lambda profiles, asked: np.zeros((len(asked), len(profiles)))})
    if row == "lsi":
        return study.best(counting.lsi(texts, seed))
    if row == "lsi-mixture":
        return study.best(counting.lsi_mixture(texts, seed, study.task.components))
    return study.best(counting.tfidf(texts) if row == "tfidf" else counting.unigram(texts))


def rows_of(study: Study, out: Path) -> list[Row]:
    """The rows asked for, those they are combined from, and the models these read."""
    reading, task = Reading(study, out), study.task
    first = study.cfg.seed
    seeds = range(first, first + task.seeds)
    wanted = [*task.rows, *(part for row in task.rows for part in COMBINED.get(row, ()))]
    rows = {}
    for row in dict.fromkeys(wanted):
        if row in COUNTED:
            rows[row] = Row(row, partial(counted, study, row), [first])
        elif row in COMBINED:
            several = [first] if set(COMBINED[row]) <= set(COUNTED) else seeds
            rows[row] = Row(row, partial(reading.combined, row), several, COMBINED[row])
        else:
            model = OF_A_MODEL[row]
            several = seeds if model in SEEDED else [first]
            rows[f"model {model}"] = Row(f"model {model}", partial(reading.learned, model), several)
            rows[row] = Row(row, partial(reading.judged, row), several, (f"model {model}",))
    return list(rows.values())
