"""The tuple of who wrote a post, in calibrated probabilities, by a predictor that none of his posts has taught.

n posts, A tuples, C authors, S sparse features.

A predictor that has seen other posts of an author recognises the author and recites his tuple: it has learned authors,
not tuples, and is surer than it would be of anybody else. Two kinds of teachers keep it from that:

- `others`: the bloggers whom the language models learned from, none of whom is a candidate. One predictor judges
  training and test posts, and has seen the author of neither: what a classifier of authors learns from the training
  posts' tuples holds for those of test posts. This is the default.
- `authors`: the candidates' own training posts, crossfitted by author: a training post is judged by the predictor that
  none of its author's posts has taught. Who wrote a test post is not known, so the mean of all these predictors
  judges it, and all but one of them have seen posts of its author. That is allowed in attribution, but such predictions
  are better and surer than those of the training posts, and the classifier of authors has never met their like.

The probabilities are then taken to a power, a temperature, which the fold's training posts choose.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from scipy import sparse

from atd.softmax_classifier import SoftmaxClassifier
from tasks.learning.calibration import calibration_error
from tasks.learning.tfidf import TfIdf, count_table

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from atd.ragged import Ragged
    from datamodules.blogs import Blogs
    from tasks.authorship.settings import Settings

UNTAUGHT = 0.01  # share of each prediction that is spread over all tuples, as some have no teacher
POWERS = (0.001, 10.0)  # between which one is looked for


def taught_by_others(data: Blogs, words: Ragged, A: int, task: Settings, seed: int) -> np.ndarray:
    """log P(tuple | post) (n×A) by a predictor that the posts behind the language models have taught."""
    taught = data.encoded["train"]
    V = len(data.vocabulary)
    counts = count_table(taught, V)
    tfidf = TfIdf(task.min_df).fit(counts)
    model = SoftmaxClassifier(**asdict(task.tuple_predictor), seed=seed).fit(tfidf.transform(counts), taught.attributes)
    return log_probabilities(model, tfidf.transform(count_table(words, V)), A)


def crossfitted(
    S: csr_matrix, a_n: np.ndarray, author_n: np.ndarray, S_test: csr_matrix, A: int, task: Settings, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """log P(tuple | post) of training posts, each by the predictor without its author, and of test posts, by all."""
    n_parts = max(2, task.crossfit)
    part_n = author_parts(author_n, n_parts, seed)
    log_p_nA = np.zeros((len(a_n), A), np.float32)
    p_test = np.zeros((S_test.shape[0], A), np.float32)
    for i in range(n_parts):
        own = part_n == i
        model = SoftmaxClassifier(**asdict(task.tuple_predictor), seed=seed).fit(S[~own], a_n[~own])
        log_p_nA[own] = log_probabilities(model, S[own], A)
        p_test += np.exp(log_probabilities(model, S_test, A)) / n_parts
    return log_p_nA, np.log(p_test)


def author_parts(author_n: np.ndarray, n_parts: int, seed: int) -> np.ndarray:
    """A random part for every author; all of an author's posts are in it."""
    authors, who_n = np.unique(author_n, return_inverse=True)
    return (np.random.default_rng(seed).permutation(len(authors)) % n_parts)[who_n]


def log_probabilities(model: SoftmaxClassifier, S: csr_matrix, A: int) -> np.ndarray:
    """Of all A tuples, those included that the model was never taught."""
    p_nA = np.full((S.shape[0], A), UNTAUGHT / A, np.float32)
    p_nA[:, model.classes_] += (1 - UNTAUGHT) * model.predict_proba(S)
    return np.log(p_nA)


def powered(evidence_nA: np.ndarray, power: float, log_prior_A: np.ndarray | None = None) -> np.ndarray:
    """log of what is proportional to prior · exp(evidence)^power."""
    logits = power * torch.from_numpy(evidence_nA)
    if log_prior_A is not None:
        logits = logits + torch.from_numpy(log_prior_A)
    return logits.log_softmax(1).numpy()


def fit_power(evidence_nA: np.ndarray, label_n: np.ndarray, log_prior_A: np.ndarray | None = None) -> float:
    """The power that makes the labels likeliest."""
    from scipy.optimize import minimize_scalar

    rows = np.arange(len(label_n))

    def nats(log_power: float) -> float:
        return -float(powered(evidence_nA, float(np.exp(log_power)), log_prior_A)[rows, label_n].mean())

    return float(np.exp(minimize_scalar(nats, bounds=np.log(POWERS), method="bounded").x))


@dataclass(frozen=True)
class Tuples:
    """Calibrated tuples of single posts and of authors, fitted to training posts by predictions for them."""

    power: float  # of a post's probabilities
    author_power: float  # of the evidence of all posts of an author
    log_prior_A: np.ndarray

    @classmethod
    def fit(cls, log_p_nA: np.ndarray, a_n: np.ndarray, author_n: np.ndarray) -> Tuples:
        """The prior is the mean prediction. An author's posts err alike, so their summed evidence has its own power."""
        power = fit_power(log_p_nA, a_n)
        calibrated_nA = powered(log_p_nA, power)
        log_prior_A = np.log(np.exp(calibrated_nA).mean(0))
        first = np.unique(author_n, return_index=True)[1]
        author_power = fit_power(evidence(calibrated_nA, author_n, log_prior_A), a_n[first], log_prior_A)
        return cls(power, author_power, log_prior_A)

    def of_posts(self, log_p_nA: np.ndarray) -> np.ndarray:
        """log P(t | post) (n×A), calibrated."""
        return powered(log_p_nA, self.power)

    def of_authors(self, log_p_nA: np.ndarray, author_n: np.ndarray) -> np.ndarray:
        """log π_a(t) (C×A): the tuple of every author, in sorted order, from all of his posts here."""
        found_CA = evidence(self.of_posts(log_p_nA), author_n, self.log_prior_A)
        return powered(found_CA, self.author_power, self.log_prior_A)


def evidence(log_p_nA: np.ndarray, author_n: np.ndarray, log_prior_A: np.ndarray) -> np.ndarray:
    """Σ log P(t | post) − log P(t) over the posts of every author (C×A), authors in sorted order."""
    authors, who_n = np.unique(author_n, return_inverse=True)
    n = len(who_n)
    posts_Cn = sparse.csr_matrix((np.ones(n, np.float32), (who_n, np.arange(n))), shape=(len(authors), n))
    return posts_Cn @ (log_p_nA - log_prior_A)


def quality(tuples: Tuples, log_p_nA: np.ndarray, a_n: np.ndarray) -> dict[str, float]:
    """How often the likeliest tuple is right, and how true its probability before and after the power; in per cent."""
    return {
        "accuracy": right(log_p_nA.argmax(1), a_n),
        "calibration_error_before": 100 * calibration_error(log_p_nA, a_n),
        "calibration_error": 100 * calibration_error(tuples.of_posts(log_p_nA), a_n),
    }


def right(guess: np.ndarray | np.integer, truth: np.ndarray) -> float:
    """In per cent."""
    return 100 * float((guess == truth).mean())
