"""Cross-lingual document classification: learn topics in one language, judge them in another (section 3.2).

n documents, K columns. A document of a model is the sum of its conditioned word vectors at unit norm (the paper), or
the sum weighted by idf (Klementiev et al.); that of a control is its tf-idf. The classifier is the averaged perceptron;
logistic regression is the check.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from atd.errors import AtdError
from atd.perceptron import AveragedPerceptron
from tasks.crosslingual.spaces import Matrix, Space

if TYPE_CHECKING:
    from sklearn.dummy import DummyClassifier
    from sklearn.linear_model import LogisticRegression

    from datamodules.europarl_rcv import EuroparlRCV

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
    judged_on: int  # documents

    @property
    def metric(self) -> str:
        return f"{NAMES[self.source]}_{self.learned}_{self.judged}"


class Documents:
    """Document vectors of one space, each made once."""

    def __init__(self, space: Space):
        self.space = space
        self._made: dict[tuple[str, ...], tuple[Matrix, np.ndarray]] = {}

    def vectors(self, source: str, language: str, split: str, weighting: str) -> tuple[Matrix, np.ndarray]:
        """The vectors of a set's documents (n×K) and their topics (n)."""
        key = source, language, split, weighting
        if key not in self._made:
            self._made[key] = self.space.documents(*key)
        return self._made[key]

    def judge(
        self,
        source: str,
        learned: str,
        judged: str,
        weighting: str,
        classifier: str,
        documents: int = 1000,
        seed: int = 0,
    ) -> Verdict:
        """Learn from at most `documents` documents in one language, judge all test documents in the other."""
        x, y = self.vectors(source, self.space.taught(learned, judged), "train", weighting)
        x_test, y_test = self.vectors(source, judged, "test", weighting)
        chosen = np.random.default_rng(seed).permutation(len(y))[:documents]
        x, x_test = few_columns(x[chosen], x_test)
        right = fitted(classifier, x, y[chosen], seed).predict(x_test) == y_test
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
            judged_on=len(y_test),
        )


def few_columns(x: Matrix, x_test: Matrix) -> tuple[np.ndarray, np.ndarray]:
    """The same documents, dense: sparse ones, with many columns, in the space that the training documents span.

    A perceptron's weights lie in that space, and so do those of logistic regression: predictions stay the same.
    """
    if isinstance(x, np.ndarray) and isinstance(x_test, np.ndarray):
        return x, x_test
    values, vectors = np.linalg.eigh(dense(x @ x.T).astype(np.float64))
    large = values > 1e-9 * values[-1]
    scale = np.sqrt(values[large])
    return vectors[:, large] * scale, dense(x_test @ x.T) @ vectors[:, large] / scale


def dense(x: Matrix) -> np.ndarray:
    return x if isinstance(x, np.ndarray) else x.toarray()


def fitted(
    classifier: str, x: np.ndarray, y: np.ndarray, seed: int
) -> AveragedPerceptron | LogisticRegression | DummyClassifier:
    if classifier == "perceptron":
        return AveragedPerceptron(seed=seed).fit(x, y)
    if classifier == "majority":
        from sklearn.dummy import DummyClassifier

        return DummyClassifier().fit(x, y)
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=10, max_iter=500).fit(x, y)


def interval(right: np.ndarray, seed: int, samples: int = 1000) -> tuple[float, float]:
    """95 % of the accuracies of test sets drawn with replacement, in per cent."""
    drawn = np.random.default_rng(seed).binomial(len(right), right.mean(), samples) / len(right)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return 100 * float(low), 100 * float(high)


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
