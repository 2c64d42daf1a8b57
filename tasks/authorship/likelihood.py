"""Who would have written this? Attributes ranked by the likelihood they give a text (part of the blog experiments).

n texts, A attributes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from atd.likelihood import log_likelihoods
from atd.ragged import Ragged
from atd.softmax_classifier import SoftmaxClassifier
from tasks.engine.result import Result
from tasks.learning.tfidf import count_table

if TYPE_CHECKING:
    from atd.lm import MultiplicativeLM
    from datamodules.blogs import Blogs
    from tasks.authorship.posts import Written
    from tasks.authorship.settings import Classifier, Settings

PARTS = ("gender", "age", "industry")  # of a tuple


def marginal(log_p_nA: np.ndarray, group_A: Sequence[str] | np.ndarray) -> tuple[np.ndarray, list[str]]:
    """log P(text, group) (n×groups): attributes of one gender, age or industry together."""
    names = sorted(set(group_A))
    group = np.array([names.index(g) for g in group_A])
    return np.stack([np.logaddexp.reduce(log_p_nA[:, group == i], axis=1) for i in range(len(names))], 1), names


def who_wrote(result: Result, atd: MultiplicativeLM, data: Blogs, written: Written, task: Settings, seed: int) -> None:
    """Attributes ranked by the likelihood of one post of each of some authors whom no model has seen."""
    first = np.sort(np.unique(written.author, return_index=True)[1])
    chosen = first[np.linspace(0, len(first) - 1, min(task.texts, len(first))).astype(int)]
    texts = written.words.take(chosen).heads(task.text_words)
    log_p = log_likelihoods(atd, texts, atd.vectors().detach(), seed=seed)
    truth = [written.tuples[i] for i in chosen]
    rows = accuracies(guesses(log_p, data, texts, task.predictor, seed), truth)
    for row, accuracy in rows.items():
        result.rows.setdefault(row, {}).update(accuracy)
    result.table(
        "Who would have written this?",
        ["", *PARTS],
        [[row, *accuracy.values()] for row, accuracy in rows.items()],
        f"Accuracy in % on the first {task.text_words} words of {len(chosen)} posts, one per author, by authors "
        "kept from training. Likelihood: all attribute vectors are tried, those of one gender (age group, industry) "
        "together.",
    )


def guesses(
    log_p_nA: np.ndarray, data: Blogs, texts: Ragged, predictor: Classifier, seed: int
) -> dict[str, list[np.ndarray]]:
    """What each way says of every text, for each part of the tuple: majority, regression on tf-idf, likelihood, with
    prior. Majority, regression and prior come from the posts that the language model, too, was trained on."""
    from sklearn.feature_extraction.text import TfidfTransformer

    train = data.encoded["train"]
    prior_A = np.bincount(train.attributes, minlength=len(data.attributes)) / len(train)
    with_prior = log_p_nA + np.log(prior_A)
    counts = count_table(train, len(data.vocabulary))
    tfidf = TfidfTransformer(sublinear_tf=True).fit(counts)
    S, S_test = tfidf.transform(counts), tfidf.transform(count_table(texts, len(data.vocabulary)))
    found: dict[str, list[np.ndarray]] = {}
    for i in range(len(PARTS)):
        group_A = values(data.attributes, i)
        seen = group_A[train.attributes]
        names, count = np.unique(seen, return_counts=True)
        classifier = SoftmaxClassifier(**asdict(predictor), seed=seed).fit(S, seen)
        found.setdefault("majority", []).append(np.full(len(texts), names[count.argmax()]))
        found.setdefault("tf-idf regression", []).append(classifier.predict(S_test))
        found.setdefault("likelihood", []).append(likeliest(log_p_nA, group_A))
        found.setdefault("likelihood and prior", []).append(likeliest(with_prior, group_A))
    return found


def values(tuples: Sequence[str], part: int) -> np.ndarray:
    """The genders, age groups or industries of tuples such as female/10s/student."""
    return np.array([name.split("/", 2)[part] for name in tuples])


def likeliest(log_p_nA: np.ndarray, group_A: Sequence[str] | np.ndarray) -> np.ndarray:
    """The group that gives each text the highest likelihood (n)."""
    score, names = marginal(log_p_nA, group_A)
    return np.array(names)[score.argmax(1)]


def accuracies(guessed: Mapping[str, Sequence[np.ndarray]], truth: Sequence[str]) -> dict[str, dict[str, float]]:
    """In per cent, of every row for every part of the tuple."""
    return {
        row: {part: 100 * float((guess[i] == values(truth, i)).mean()) for i, part in enumerate(PARTS)}
        for row, guess in guessed.items()
    }
