"""The trigram baseline against hand counts."""

from __future__ import annotations

import numpy as np
import pytest

from atd.ngram import Trigram


def windows(ids, N=2):
    padded = [1] * N + ids
    return np.array([padded[i : i + N] for i in range(len(ids))]), np.array(ids)


def test_probabilities_sum_to_one_and_match_a_hand_count():
    context, target = windows([2, 3, 2, 3, 4])
    model = Trigram(V=5, k=2.0).fit(context, target)
    history = np.array([[3, 2]] * 5)
    p = np.exp(model.log_prob(history, np.arange(5)))
    assert p.sum() == pytest.approx(1.0)
    unigram = (2 + 2 * 0.2) / (5 + 2)  # the word 3 occurs twice in five
    bigram = (2 + 2 * unigram) / (2 + 2)  # 2 is followed by 3 both times
    assert p[3] == pytest.approx((1 + 2 * bigram) / (1 + 2))


def test_tuning_takes_the_best_k():
    rng = np.random.default_rng(0)
    context, target = windows(rng.integers(2, 30, 3000).tolist())
    held = windows(rng.integers(2, 30, 500).tolist())
    model = Trigram(V=30).fit(context, target).tune(*held)
    best = model.perplexity(*held)
    for k in (0.3, 3):
        other = Trigram(V=30, k=k).fit(context, target)
        assert best <= other.perplexity(*held)
    assert model.k == 100  # pure noise: trust the prior
