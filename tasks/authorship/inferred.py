"""Attribution where nothing is given at test time: the tuple is inferred from the words, then conditions them.

n posts, A tuples, C authors, F factors, K word dim; S sparse and H dense features.

In the paper's experiment 1 the conditioned document vectors are told the author's tuple, of test posts too. Here they
take the mean of all tuples' vectors under the probabilities that `tuples` finds. Gates are affine in x, so the gate of
the mean vector is the mean of the gates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional

from atd.softmax_classifier import SoftmaxClassifier
from tasks.authorship.attribution import TFIDF, UNCONDITIONED, Fold, side_by_side
from tasks.authorship.posts import Posts, bags
from tasks.authorship.tuples import Tuples, crossfitted, quality, right, taught_by_others
from tasks.engine.rows import Outcome, Row, Store, run_rows
from tasks.learning.tfidf import TfIdf

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from atd.lm import MultiplicativeLM
    from atd.ragged import Ragged
    from datamodules.blogs import Blogs
    from tasks.authorship.settings import Settings

BY_POST, BY_AUTHOR = f"{TFIDF}+conditioned-post", f"{TFIDF}+conditioned-author"
MATCH, RANDOM = f"{TFIDF}+match", f"{TFIDF}+random-inferred"
WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # of the match of tuples beside tf-idf's log-probability
HELD = 5  # one of so many parts of the training posts chooses the weight


@dataclass
class Factors:
    """What document vectors are conditioned with, and, when others teach them, the tuples of all posts."""

    sums_nF: np.ndarray  # of the rows of W_fv of a post's words
    gate_AF: np.ndarray
    W_fk: np.ndarray  # F×K
    log_p_nA: np.ndarray | None

    @classmethod
    @torch.inference_mode()
    def of(cls, atd: MultiplicativeLM, data: Blogs, words: Ragged, posts: Posts, task: Settings, seed: int) -> Factors:
        gate_AF = atd.gate(torch.from_numpy(posts.x_AD))
        others = task.teachers == "others"
        log_p_nA = taught_by_others(data, words, len(posts.x_AD), task, seed) if others else None
        return cls(bags(atd.W_fv, words).numpy(), gate_AF.numpy(), atd.W_fk.detach().numpy(), log_p_nA)

    def conditioned(self, rows: np.ndarray, log_p_nA: np.ndarray, gate_AF: np.ndarray) -> np.ndarray:
        """Unit document vectors (n×K) of some posts, under the mean gate of their tuples."""
        gate_nF = np.exp(log_p_nA) @ gate_AF
        sums_nK = (self.sums_nF[rows] * gate_nF) @ self.W_fk
        return functional.normalize(torch.from_numpy(sums_nK), dim=1).numpy()


def infer(
    posts: Posts, factors: Factors, folds: Sequence[Fold], task: Settings, seed: int, store: Store, measured: bool
) -> list[Outcome]:
    """Of every fold: `scores` has the rows' accuracies, `facts` how well tuples are inferred.

    `measured` says that the part `experiments` has the row of unconditioned vectors already.
    """
    job = partial(infer_fold, posts, factors, folds, task, seed, measured)
    return run_rows([Row("inferred", job, range(len(folds)))], store, task.workers)["inferred"]


def infer_fold(
    posts: Posts, factors: Factors, folds: Sequence[Fold], task: Settings, seed: int, measured: bool, number: int
) -> Outcome:
    train, test = folds[number]
    tfidf = TfIdf(task.min_df).fit(posts.counts[train])
    S, S_test = (tfidf.transform(posts.counts[part]) for part in (train, test))
    y, y_test = posts.author[train], posts.author[test]
    a, a_test = posts.attribute[train], posts.attribute[test]
    if factors.log_p_nA is None:
        raw, raw_test = crossfitted(S, a, y, S_test, len(posts.x_AD), task, seed)
    else:
        raw, raw_test = factors.log_p_nA[train], factors.log_p_nA[test]
    tuples = Tuples.fit(raw, a, y)
    of_posts, of_test = tuples.of_posts(raw), tuples.of_posts(raw_test)
    of_authors = tuples.of_authors(raw, y)
    authors, who = np.unique(y, return_inverse=True)

    dense = conditioned_blocks(factors, train, test, (of_posts, of_authors[who], of_test), [seed, number])
    if not measured:
        dense[UNCONDITIONED] = posts.vectors["unconditioned"][train], posts.vectors["unconditioned"][test]
    log_p = author_log_p(S, y, S_test, task, seed)
    weight = chosen_weight(S, y, raw, tuples, task, seed)
    matched = log_p + weight * match(of_test, of_authors, tuples.log_prior_A)
    scores = {TFIDF: right(authors[log_p.argmax(1)], y_test), MATCH: right(authors[matched.argmax(1)], y_test)}
    for row, block in dense.items():
        H, H_test = side_by_side([block], task.dense, len(train), len(test))
        model = SoftmaxClassifier(**asdict(task.classifier), seed=seed).fit((S, H), y)
        scores[row] = 100 * model.score((S_test, H_test), y_test)
        del model  # on the full corpus it has 4 GB of weights

    first = np.unique(y, return_index=True)[1]
    facts = quality(tuples, raw_test, a_test) | {
        "majority": right(np.bincount(a).argmax(), a_test),
        "accuracy_training_posts": right(raw.argmax(1), a),
        "accuracy_authors": right(of_authors.argmax(1), a[first]),
        "power": tuples.power,
        "power_authors": tuples.author_power,
        "match_weight": weight,
    }
    return Outcome(scores, facts=facts)


def conditioned_blocks(
    factors: Factors,
    train: np.ndarray,
    test: np.ndarray,
    inferred: tuple[np.ndarray, np.ndarray, np.ndarray],
    deal: list[int],
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Document vectors of training and test posts by row.

    `inferred` are the tuples of training posts by post and by author, and of test posts by post. The control gives
    every tuple the gate of a random one, dealt anew in each fold: the same probabilities, and no meaning.
    """
    of_posts, of_their_authors, of_test = inferred
    gate_AF = factors.gate_AF
    dealt_AF = np.random.default_rng(deal).permutation(gate_AF)
    H_test = factors.conditioned(test, of_test, gate_AF)
    return {
        BY_POST: (factors.conditioned(train, of_posts, gate_AF), H_test),
        BY_AUTHOR: (factors.conditioned(train, of_their_authors, gate_AF), H_test),
        RANDOM: (factors.conditioned(train, of_posts, dealt_AF), factors.conditioned(test, of_test, dealt_AF)),
    }


def author_log_p(S: csr_matrix, y: np.ndarray, S_test: csr_matrix, task: Settings, seed: int) -> np.ndarray:
    """log P(author | post) by tf-idf alone (n×C), authors in sorted order."""
    return SoftmaxClassifier(**asdict(task.classifier), seed=seed).fit(S, y).predict_log_proba(S_test)


def match(log_p_nA: np.ndarray, log_pi_CA: np.ndarray, log_prior_A: np.ndarray) -> np.ndarray:
    """log Σ_t P(t | post) π_a(t) / P(t) (n×C): how much likelier the post is, given that its tuple is the author's."""
    return np.log(np.exp(log_p_nA) @ np.exp(log_pi_CA - log_prior_A).T)


def chosen_weight(
    S: csr_matrix, y: np.ndarray, log_p_nA: np.ndarray, tuples: Tuples, task: Settings, seed: int
) -> float:
    """The weight of the match that attributes most of the held-out training posts rightly; the least of equals."""
    held = np.random.default_rng(seed).permutation(len(y)) % HELD == 0
    kept = ~held
    authors = np.unique(y[kept])
    log_p = author_log_p(S[kept], y[kept], S[held], task, seed)
    of_authors = tuples.of_authors(log_p_nA[kept], y[kept])
    matches = match(tuples.of_posts(log_p_nA[held]), of_authors, tuples.log_prior_A)
    found = [right(authors[(log_p + w * matches).argmax(1)], y[held]) for w in WEIGHTS]
    return WEIGHTS[int(np.argmax(found))]
