"""From vectors to labels: the classifier on every row's vectors, and the two accuracies.

n texts, D vector dim; labels 0 (very negative) to 4 (very positive), log-probabilities are n×5.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

EPOCHS = 8  # of a network with a hidden layer


def accuracies(logp: np.ndarray, label: np.ndarray) -> tuple[float, float]:
    """Fine-grained, and positive/negative on the texts that are not neutral, in per cent."""
    p = np.exp(logp - logp.max(1, keepdims=True))
    polar = label != 2
    positive = p[:, 3:].sum(1) > p[:, :2].sum(1)
    fine = (logp.argmax(1) == label).mean()
    return float(100 * fine), float(100 * (positive == (label > 2))[polar].mean())


def scores(predictions: Mapping[str, np.ndarray], labels: Mapping[str, np.ndarray]) -> dict[str, float]:
    """The four numbers of a row, named as in metrics.json."""
    fine, binary = accuracies(predictions["test"], labels["test"])
    fine_dev, binary_dev = accuracies(predictions["val"], labels["val"])
    return {"fine": fine, "binary": binary, "fine_dev": fine_dev, "binary_dev": binary_dev}


@dataclass(frozen=True)
class Setting:
    """`unit` scales vectors to norm 1; `power` weighs a training phrase by length^power; `hidden` units, 0 = none."""

    unit: bool
    power: float
    hidden: int = 0


def log_prior(label: np.ndarray) -> np.ndarray:
    return np.log(np.bincount(label, minlength=5) + 1.0) - np.log(len(label) + 5.0)


def classify(
    vectors: Mapping[str, np.ndarray],
    label: np.ndarray,
    length: np.ndarray,
    sentence_labels: np.ndarray,
    val_label: np.ndarray,
    units: tuple[bool, ...] = (False, True),
    powers: tuple[float, ...] = (1.0, 2.0),
    hiddens: tuple[int, ...] = (0,),
    seed: int = 0,
) -> tuple[dict[str, np.ndarray], Setting]:
    """Multinomial logistic regression on all training phrases (`vectors["train"]`); val chooses the setting.

    With `hiddens` a network with a hidden layer of so many units instead, whose start `seed` draws.

    Half of the phrases are neutral, a fifth of the sentences: the log-odds between the label frequencies of the
    (weighted) phrases and those of the training sentences are added, or nearly everything is called neutral.
    """
    best: tuple[float, dict[str, np.ndarray], Setting] | None = None
    for setting in (Setting(*values) for values in product(units, powers, hiddens)):
        weight = length.astype(float) ** setting.power
        predicted = _fit(vectors, label, weight, sentence_labels, setting, seed)
        value = sum(accuracies(predicted["val"], val_label))
        if best is None or value > best[0]:
            best = value, predicted, setting
    assert best is not None
    return best[1], best[2]


def _fit(
    vectors: Mapping[str, np.ndarray],
    label: np.ndarray,
    weight: np.ndarray,
    sentence_labels: np.ndarray,
    setting: Setting,
    seed: int,
) -> dict[str, np.ndarray]:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer, StandardScaler

    model = LogisticRegression(C=1.0, max_iter=60, tol=1e-3)
    if setting.hidden:
        model = MLPClassifier((setting.hidden,), batch_size=min(500, len(label)), max_iter=EPOCHS, random_state=seed)
    pipe = make_pipeline(*([Normalizer()] if setting.unit else []), StandardScaler(), model)
    weight = weight / weight.mean()
    with warnings.catch_warnings():  # stopping early costs no accuracy here
        warnings.simplefilter("ignore", ConvergenceWarning)
        pipe.fit(vectors["train"], label, **{f"{pipe.steps[-1][0]}__sample_weight": weight})
    share = np.bincount(label, weights=weight, minlength=5) / weight.sum()
    shift = log_prior(sentence_labels) - np.log(share)
    return {split: pipe.predict_log_proba(vectors[split]) + shift for split in ("val", "test")}


def confusion(logp: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Rows are the true labels, columns the predicted ones; counts."""
    matrix = np.zeros((5, 5))
    np.add.at(matrix, (label, logp.argmax(1)), 1)
    return matrix
