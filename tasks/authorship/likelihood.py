"""Who would have written this? Attributes ranked by the likelihood they give a text (part of the blog experiments).

n texts, T their words, N context, A attributes, D attribute dim, F factors, H head words, S sampled words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np
import torch
from rich.progress import track
from torch import Tensor

from atd.ragged import Ragged
from atd.softmax_classifier import SoftmaxClassifier
from atd.vocabulary import UNK_ID
from tasks.engine.result import Result
from tasks.learning.tfidf import count_table

if TYPE_CHECKING:
    from atd.lm import MultiplicativeLM
    from datamodules.blogs import Blogs
    from tasks.authorship.posts import Written
    from tasks.authorship.settings import Classifier, Settings

PARTS = ("gender", "age", "industry")  # of a tuple
LOGITS = 2**22  # alive at once


class Normaliser:
    """The softmax's denominator over the most frequent words, exactly, and a sample of the others.

    All attributes are judged by the same words, so that what sampling adds to one it adds to all. `head` words are
    summed as they are; `samples` of the rest are drawn without replacement and weighted up.
    """

    def __init__(self, model: MultiplicativeLM, head: int, samples: int, seed: int):
        W, b = (t.detach() for t in model.output())
        V = len(b)
        head = min(head, V)
        tail = np.random.default_rng(seed).permutation(np.arange(head, V))[:samples]
        words = torch.from_numpy(np.concatenate([np.arange(head), tail]))
        weight = torch.zeros(len(words))
        if len(tail):
            weight[head:] = float(np.log((V - head) / len(tail)))
        self.W, self.b = W[words], b[words] + weight

    def log_sum(self, f_BF: Tensor) -> Tensor:
        return torch.addmm(self.b, f_BF, self.W.T).logsumexp(1)


@torch.inference_mode()
def log_likelihoods(
    model: MultiplicativeLM,
    texts: Ragged,
    x_AD: Tensor,
    head: int = 1000,
    samples: int = 1000,
    seed: int = 0,
) -> np.ndarray:
    """log P(text | attribute) of every text under every attribute vector (n×A).

    Unknown words are context, but not counted: which attribute has more of them says little about style.
    """
    known = np.flatnonzero(texts.tokens != UNK_ID)
    context = torch.from_numpy(texts.windows(len(model.C), known))
    target = torch.from_numpy(texts.tokens[known].astype(np.int64))
    document = torch.from_numpy(texts.owner[known])
    normaliser, (W, b) = Normaliser(model, head, samples, seed), model.output()
    out = torch.zeros(len(texts), len(x_AD), dtype=torch.float64)
    rows = max(1, LOGITS // len(normaliser.b))
    for part in track(torch.arange(len(target)).split(rows), "likelihood under every attribute"):
        r_BF = model.context(context[part])
        own_W, own_b = W[target[part]], b[target[part]]
        for a, x_D in enumerate(x_AD):
            f_BF = model.condition(r_BF, x_D)
            log_p = (f_BF * own_W).sum(1) + own_b - normaliser.log_sum(f_BF)
            out[:, a].index_add_(0, document[part], log_p.double())
    return out.numpy()


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
    """The genders, age groups or industries of tuples such as f/10/student."""
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
