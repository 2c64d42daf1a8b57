"""All vectors before one judge: the same languages, the same tree, the same scores.

n languages that are scored, A languages of the corpus.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from atd.files import write_whole
from datamodules.readers import world
from tasks.engine.rows import Outcome, mean_and_spread
from tasks.kinship import typology
from tasks.kinship.module import letters_perplexity
from tasks.kinship.scores import Truth, chance, noise, of_gram, scores, similarity
from tasks.learning.corpora import open_corpus

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from datamodules.verses import Verses
    from tasks.kinship.settings import Settings

ARTIFICIAL = "Artificial Language"  # such as Esperanto: of no family
OURS = ("atd", "ngrams", "verse-ngrams")  # rows that stand beside published vectors
BEYOND = "typology_beyond_letters"


@dataclass(frozen=True)
class Judge:
    data: Verses
    task: Settings
    known: Mapping[str, world.Language]

    @classmethod
    def of(cls, cfg: DictConfig, task: Settings) -> Judge:
        data = cast("Verses", open_corpus(cfg))
        return cls(data, task, world.read_languages(data.path))

    @cached_property
    def scored(self) -> np.ndarray:
        """Places of the languages that are scored: all but artificial ones."""
        family = [self.known[iso].family for iso in self.data.attributes]
        return np.flatnonzero([name != ARTIFICIAL for name in family])

    @cached_property
    def codes(self) -> list[str]:
        return [self.data.attributes[i] for i in self.scored]

    @cached_property
    def truth(self) -> Truth:
        return Truth([self.known[iso] for iso in self.codes], self.task.quartets)

    @cached_property
    def rivals(self) -> dict[str, dict[str, np.ndarray]]:
        """Published vectors that cover at least four of the languages, by name and code."""
        found = world.read_rivals(self.data.path)
        return {name: of for name, of in found.items() if len(of.keys() & set(self.codes)) >= 4}

    def similar(self, outcomes: Sequence[Outcome]) -> np.ndarray:
        """Centred cosines (n×n), the mean over seeds."""
        return np.mean([self.compared(outcome, centred=True) for outcome in outcomes], axis=0)

    def compared(self, outcome: Outcome, centred: bool, rows: np.ndarray | None = None) -> np.ndarray:
        """Similarities of the scored languages, or of some of them."""
        chosen = self.scored if rows is None else self.scored[rows]
        if "gram" in outcome.arrays:
            return of_gram(outcome.arrays["gram"][np.ix_(chosen, chosen)], centred)
        return similarity(outcome.arrays["x"][chosen], centred)

    def rows(self, outcomes: Mapping[str, Sequence[Outcome]]) -> dict[str, dict[str, float]]:
        """Of metrics.json: every row on all languages, by centred cosines."""
        beyond = self.beyond_letters(outcomes)
        found = {
            name: mean_and_spread([self.row(o) for o in of]) | beyond.get(name, {}) for name, of in outcomes.items()
        }
        if len(outcomes.get("atd", ())) > 1:
            found["atd, seeds averaged"] = self.of_similarity(self.similar(outcomes["atd"]))
        found["letters"] = {"perplexity": letters_perplexity(self.data, "test")}
        by_chance = {"family_accuracy": chance(self.truth.families), "branch_accuracy": chance(self.truth.branches)}
        found["chance"] = by_chance | {"gqd": 2 / 3, "gqd_nj": 2 / 3, "gqd_within": 2 / 3}
        if self.grammar is not None:
            rows, feature_nP = self.grammar
            found["chance"]["typology"] = typology.majority(feature_nP, self.truth.families[rows])
        return found

    def beyond_letters(self, outcomes: Mapping[str, Sequence[Outcome]]) -> dict[str, dict[str, float]]:
        """Agreement with grammar across families, with the similarity of n-grams held fixed."""
        if self.grammar is None or "ngrams" not in outcomes:
            return {}
        rows = self.grammar[0]
        known_nn = self.compared(outcomes["ngrams"][0], True, rows)
        return {
            name: mean_and_spread(
                [{BEYOND: typology.beyond(self.compared(o, True, rows), known_nn, self.pairs)} for o in of]
            )
            for name, of in outcomes.items()
            if of[0].arrays and name != "ngrams"
        }

    def row(self, outcome: Outcome) -> dict[str, float]:
        """Scores of one seed."""
        if not outcome.arrays:
            return dict(outcome.scores)
        return self.of_similarity(self.compared(outcome, centred=True)) | outcome.scores

    def of_similarity(self, similar_nn: np.ndarray) -> dict[str, float]:
        found = scores(similar_nn, self.truth)
        if self.grammar is not None:
            rows, feature_nP = self.grammar
            part_nn, family_n = similar_nn[np.ix_(rows, rows)], self.truth.families[rows]
            found["typology"] = typology.prediction(part_nn, feature_nP, family_n)
            found["typology_across_families"] = typology.across_families(part_nn, self.pairs)
        return found

    def details(self, outcomes: Mapping[str, Sequence[Outcome]]) -> dict[str, dict[str, float]]:
        """Every row by vectors as they are, and how much its scores depend on which languages are there."""
        found = {}
        for name, of in outcomes.items():
            if of[0].arrays:
                found[f"{name}, not centred"] = mean_and_spread(
                    [scores(self.compared(o, False), self.truth) for o in of]
                )
                found[f"{name}, noise"] = noise(self.compared(of[0], True), self.truth, self.task.subsets)
        return found

    @cached_property
    def grammar(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The scored languages whose grammar is described, and their features."""
        found = world.read_typology(self.data.path) if self.task.typology else {}
        rows = np.flatnonzero([iso in found for iso in self.codes])
        return (rows, np.stack([found[self.codes[i]] for i in rows])) if len(rows) > typology.FEWEST else None

    @cached_property
    def pairs(self) -> typology.Pairs:
        assert self.grammar is not None
        rows, feature_nP = self.grammar
        return typology.Pairs.of(feature_nP, self.truth.families[rows])

    def beside(self, outcomes: Mapping[str, Sequence[Outcome]]) -> list[tuple[int, dict[str, dict[str, float]]]]:
        """Published vectors and ours on the languages they cover: (how many, scores of every row) for each such set."""
        by_cover: dict[tuple[int, ...], list[str]] = {}
        for name, vectors in self.rivals.items():
            covered = tuple(i for i, iso in enumerate(self.codes) if iso in vectors)
            by_cover.setdefault(covered, []).append(name)
        return [(len(c), self.on(np.array(c), names, outcomes)) for c, names in by_cover.items()]

    def on(
        self, rows: np.ndarray, names: Sequence[str], outcomes: Mapping[str, Sequence[Outcome]]
    ) -> dict[str, dict[str, float]]:
        truth = self.truth.take(rows)
        found = {}
        for name in names:
            theirs = np.stack([self.rivals[name][self.codes[i]] for i in rows])
            found[name] = both_ways(lambda centred, x=theirs: similarity(x, centred), truth)
        for row in filter(outcomes.__contains__, OURS):
            seeds = [both_ways(lambda centred, o=o: self.compared(o, centred, rows), truth) for o in outcomes[row]]
            found[row] = mean_and_spread(seeds)
        return found

    def verdict(self, rows: Mapping[str, Mapping[str, float]]) -> str:
        """What was found, in a sentence."""
        if "atd" not in rows:
            return ""
        own = rows["atd"]["family_accuracy"]
        said = f"The nearest language is a relative for {own:.1f} % of the languages by the model's vectors"
        others = [name for name in ("ngrams", "ngrams-reduced", "verse-ngrams") if name in rows]
        beside = ", ".join(f"{rows[name]['family_accuracy']:.1f} by {name}" for name in others)
        return f"{said}; {beside or 'nothing was counted beside it'}."

    def write_vectors(self, path: Path, x_AF: np.ndarray) -> None:
        """The vectors of the first seed, in the form of the rivals' files."""
        head = "\t".join(["iso", *(f"d{i}" for i in range(x_AF.shape[1]))])
        lines = ["\t".join([iso, *(f"{v:.5g}" for v in x)]) for iso, x in zip(self.data.attributes, x_AF, strict=True)]
        write_whole(path, "\n".join([head, *lines]) + "\n")


def both_ways(similar, truth: Truth) -> dict[str, float]:
    """Scores by centred cosines, and raw ones."""
    raw = scores(similar(False), truth)
    return scores(similar(True), truth) | {f"{name}_raw": value for name, value in raw.items()}
