"""Cross-lingual document classification: learn topics in one language, judge them in another (section 3.2).

n documents, K dim, V words. A document is the sum of its conditioned word vectors at unit norm (the paper), or the sum
weighted by idf (Klementiev et al.). The classifier is the averaged perceptron; logistic regression is the check.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from scipy import sparse

from atd.errors import AtdError
from atd.perceptron import AveragedPerceptron

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression

    from atd.ranking import RankingModel
    from datamodules.europarl_rcv import EuroparlRCV

WEIGHTINGS = ("sum", "idf")
CLASSIFIERS = ("perceptron", "logistic")
NAMES = {"sib200": "sib200", "taxi1500": "taxi1500", "reuters": "rcv"}  # source → name of its metrics


@dataclass
class Verdict:
    """One classifier judged once. Accuracies are per cent; `low` and `high` bound 95 % of bootstrap samples."""

    source: str
    learned: str
    judged: str
    weighting: str
    classifier: str
    documents: int
    accuracy: float
    low: float
    high: float
    majority: float
    recall: dict[str, float]

    @property
    def metric(self) -> str:
        return f"{NAMES[self.source]}_{self.learned}_{self.judged}"


class Documents:
    """Document vectors of one model, each made once."""

    def __init__(self, model: RankingModel, data: EuroparlRCV):
        self.model = model
        self.data = data
        self.idf = {lang: torch.from_numpy(weights) for lang, weights in idf(data).items()}
        self._made: dict[tuple[str, ...], tuple[np.ndarray, np.ndarray]] = {}

    def vectors(self, source: str, language: str, split: str, weighting: str) -> tuple[np.ndarray, np.ndarray]:
        """The vectors of a set's documents (n×K) and their topics (n)."""
        key = source, language, split, weighting
        if key not in self._made:
            documents, labels = self.data.topics(source, language, split)
            weight = self.idf[language] if weighting == "idf" else None
            vectors = self.model.sentences(documents, self.model.language(language), weight)
            self._made[key] = vectors.cpu().numpy(), labels
        return self._made[key]

    def judge(
        self,
        source: str,
        learned: str,
        judged: str,
        weighting: str = "sum",
        classifier: str = "perceptron",
        documents: int = 1000,
        seed: int = 0,
    ) -> Verdict:
        """Learn from at most `documents` documents in one language, judge all test documents in the other."""
        x, y = self.vectors(source, learned, "train", weighting)
        x_test, y_test = self.vectors(source, judged, "test", weighting)
        chosen = np.random.default_rng(seed).permutation(len(y))[:documents]
        right = fitted(classifier, x[chosen], y[chosen], seed).predict(x_test) == y_test
        usual = max(sorted(set(y[chosen])), key=list(y[chosen]).count)
        low, high = interval(right, seed)
        return Verdict(
            source=source,
            learned=learned,
            judged=judged,
            weighting=weighting,
            classifier=classifier,
            documents=len(chosen),
            accuracy=100 * float(right.mean()),
            low=low,
            high=high,
            majority=100 * float((y_test == usual).mean()),
            recall={str(label): 100 * float(right[y_test == label].mean()) for label in sorted(set(y_test))},
        )


def fitted(classifier: str, x: np.ndarray, y: np.ndarray, seed: int) -> AveragedPerceptron | LogisticRegression:
    if classifier == "perceptron":
        return AveragedPerceptron(seed=seed).fit(x, y)
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=10, max_iter=500).fit(x, y)


def interval(right: np.ndarray, seed: int, samples: int = 1000) -> tuple[float, float]:
    """95 % of the accuracies of test sets drawn with replacement, in per cent."""
    drawn = np.random.default_rng(seed).binomial(len(right), right.mean(), samples) / len(right)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return 100 * float(low), 100 * float(high)


def idf(data: EuroparlRCV) -> dict[str, np.ndarray]:
    """log(sentences / sentences with the word), counted on the training sentences of each language."""
    seen = {lang: np.zeros(len(v)) for lang, v in zip(data.languages, data.vocabularies, strict=True)}
    total = dict.fromkeys(data.languages, 0)
    for pairs in data.training():
        for language, side in zip(pairs.languages, (pairs.source, pairs.target), strict=True):
            name = data.languages[language]
            ones = np.ones(len(side.tokens), np.float32)
            counts = sparse.csr_array((ones, side.tokens, side.offsets), shape=(len(side), len(seen[name])))
            counts.sum_duplicates()
            seen[name] += np.bincount(counts.indices, minlength=len(seen[name]))
            total[name] += len(side)
    return {lang: np.log(total[lang] / np.maximum(n, 1)).astype(np.float32) for lang, n in seen.items()}


def available(data: EuroparlRCV, asked: list[str] | None, languages: tuple[str, str]) -> list[str]:
    """The sets to judge on: those asked for, or else those of the corpus; and Reuters, which nobody may ship, if there.

    A set that should be there and is not is an error.
    """
    wanted = data.topic_sets if asked is None else asked
    found = []
    for source in dict.fromkeys([*wanted, "reuters"]):
        try:
            for language in languages:
                data.topics(source, language, "test")
            found.append(source)
        except AtdError:
            if source in wanted and source != "reuters":
                raise
    return found
