"""Who would have written this? Attributes ranked by the likelihood they give a text (part of the blog experiments).

n texts, T their words, N context, A attributes, D attribute dim, F factors, H head words, S sampled words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from rich.progress import track
from torch import Tensor

from atd.ragged import Ragged
from atd.softmax_classifier import SoftmaxClassifier
from atd.vocabulary import UNK_ID

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from atd.lm import MultiplicativeLM

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
    gate_AF = model.gate(x_AD)
    out = torch.zeros(len(texts), len(x_AD), dtype=torch.float64)
    rows = max(1, LOGITS // len(normaliser.b))
    for part in track(torch.arange(len(target)).split(rows), "likelihood under every attribute"):
        r_BF = model.context(context[part])
        own_W, own_b = W[target[part]], b[target[part]]
        for a, gate in enumerate(gate_AF):
            f_BF = r_BF * gate
            log_p = (f_BF * own_W).sum(1) + own_b - normaliser.log_sum(f_BF)
            out[:, a].index_add_(0, document[part], log_p.double())
    return out.numpy()


def marginal(log_p_nA: np.ndarray, group_A: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """log P(text, group) (n×groups): attributes of one gender, age or industry together."""
    names = sorted(set(group_A))
    group = np.array([names.index(g) for g in group_A])
    return np.stack([np.logaddexp.reduce(log_p_nA[:, group == i], axis=1) for i in range(len(names))], 1), names


def attribution_accuracies(
    log_p_nA: np.ndarray,
    prior_A: np.ndarray,
    names: Sequence[str],
    truth: Sequence[str],
    train: tuple[csr_matrix, Sequence[str]],
    test: csr_matrix,
    classifier: dict[str, Any],
) -> dict[str, dict[str, float]]:
    """Accuracy (%) for each part of the tuple: majority, logistic regression on tf-idf, likelihood, with prior.

    `names` and `truth` are tuples such as `f/10/student`; `train` holds the counts and tuples of the posts that the
    language model, too, was trained on.
    """
    from sklearn.feature_extraction.text import TfidfTransformer

    tfidf = TfidfTransformer(sublinear_tf=True).fit(train[0])
    S, S_test = tfidf.transform(train[0]), tfidf.transform(test)
    rows: dict[str, dict[str, float]] = {}
    with_prior = log_p_nA + np.log(prior_A)
    for i, part in enumerate(("gender", "age", "industry")):
        true = np.array([t.split("/", 2)[i] for t in truth])
        seen = np.array([t.split("/", 2)[i] for t in train[1]])
        values, count = np.unique(seen, return_counts=True)
        guesses = {
            "majority": np.full(len(true), values[count.argmax()]),
            "tf-idf regression": SoftmaxClassifier(**classifier).fit(S, seen).predict(S_test),
        }
        group = [name.split("/", 2)[i] for name in names]
        for row, log_p in (("likelihood", log_p_nA), ("likelihood and prior", with_prior)):
            score, found = marginal(log_p, group)
            guesses[row] = np.array(found)[score.argmax(1)]
        for row, guess in guesses.items():
            rows.setdefault(row, {})[part] = 100 * float((guess == true).mean())
    return rows
