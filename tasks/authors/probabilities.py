"""The scores of all rows as probabilities, each row by itself and in mixtures.

n texts, A authors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tasks.authors.classifiers import NGRAMS
from tasks.authors.gate import VECTORS, without_memory
from tasks.authors.measures import measures
from tasks.authors.mixture import Mixture, crossed
from tasks.authors.scores import EVIDENCE
from tasks.authors.study import JUDGED, Study
from tasks.engine.rows import Outcome, mean_and_spread

ACCURACIES = ("accuracy", "macro_accuracy")
COUNTS = ("kneser-ney-words", "kneser-ney-characters")
BOTH = {"atd-both": (VECTORS, *COUNTS), "counts-both": COUNTS}  # likelihoods of words and of characters


@dataclass
class Probabilities:
    """`mixed[row]` names the rows that are mixed in it. Several seeds give several probabilities each."""

    study: Study
    outcomes: Mapping[str, Sequence[Outcome]]
    mixed: dict[str, list[str]]

    @classmethod
    def of(cls, study: Study, outcomes: Mapping[str, Sequence[Outcome]], rows: Sequence[str]) -> Probabilities:
        """Every row alone; the n-gram classifiers together; likelihoods of words and characters; all rows but the
        multiplicative model; and all."""
        read = {name for names in EVIDENCE.values() for name in names}  # by rows, and no row itself
        outcomes = {name: found for name, found in outcomes.items() if name not in read}
        if "atd" in outcomes:
            outcomes[VECTORS] = [without_memory(outcome) for outcome in outcomes["atd"]]
        mixed = {name: [name] for name in outcomes}
        ngrams = [name for name in rows if name in NGRAMS]
        if len(ngrams) > 1:
            mixed["ngrams"] = ngrams
        mixed |= {name: list(parts) for name, parts in BOTH.items() if set(parts) <= set(outcomes)}
        others = [name for name in rows if name != "atd"]
        if len(others) < len(rows) and others:
            mixed["stacked without atd"] = others
        return cls(study, outcomes, mixed | {"stacked": list(rows)})

    def scores(self, row: str, part: str, seed: int = 0) -> list[np.ndarray]:
        """Of every row that is mixed in this one; one that has fewer seeds gives its first again."""
        found = [self.outcomes[name] for name in self.mixed[row]]
        return [several[seed if seed < len(several) else 0].arrays[part] for several in found]

    def seeds(self, row: str) -> int:
        return max(len(self.outcomes[name]) for name in self.mixed[row])

    @cached_property
    def words(self) -> dict[str, np.ndarray]:
        return {part: self.study.lengths(part) for part in JUDGED}

    @cached_property
    def mixtures(self) -> dict[str, list[Mixture]]:
        """Fitted to the validation texts, for every seed."""
        label, prior = self.study.labels("val"), self.study.log_prior
        return {
            row: [
                Mixture().fit(self.scores(row, "val", s), self.words["val"], label, prior)
                for s in range(self.seeds(row))
            ]
            for row in self.mixed
        }

    def log_p(self, row: str, part: str, seed: int = 0) -> np.ndarray:
        """log P(author | text) of a part (n×A)."""
        return self.mixtures[row][seed].log_probabilities(self.scores(row, part, seed), self.words[part])

    def rows(self) -> dict[str, dict[str, float]]:
        """Of metrics.json, mean and spread over seeds."""
        return {row: mean_and_spread([self.judged(row, s) for s in range(self.seeds(row))]) for row in self.mixed}

    def judged(self, row: str, seed: int) -> dict[str, float]:
        """On test, also without twins, and on validation texts by mixtures that were fitted to other ones."""
        label = self.study.labels("val")
        dev = measures(crossed(self.scores(row, "val", seed), self.words["val"], label, self.study.log_prior), label)
        log_p, label = self.log_p(row, "test", seed), self.study.labels("test")
        test = measures(log_p, label) | {f"{name}_dev": dev[name] for name in ACCURACIES}
        if self.study.twin.any():
            lone = ~self.study.twin[label]
            without = measures(log_p[lone], label[lone])
            test |= {f"{name}_without_twins": without[name] for name in ACCURACIES}
        return test
