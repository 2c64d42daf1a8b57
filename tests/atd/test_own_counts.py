"""A memory above another model: a distribution still, silent where an attribute wrote nothing, and of use."""

from __future__ import annotations

import numpy as np
import pytest

from atd.ngram_mixture import AttributeKneserNey
from atd.own_counts import OwnCounts

V, A = 12, 4  # the last attribute has no text


def written(rng: np.random.Generator, B: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(contexts, words, authors): every author has a favourite that often follows word 1."""
    context, target = rng.integers(1, V, (B, 2)), rng.integers(1, V, B)
    author = rng.integers(0, A - 1, B)
    habit = (context[:, -1] == 1) & (rng.random(B) < 0.7)
    target[habit] = 2 + author[habit]
    return context, target, author


@pytest.fixture
def memory() -> OwnCounts:
    return OwnCounts(V, A, order=3).fit(*written(np.random.default_rng(0), 4000))


def test_probabilities_sum_to_one(memory):
    rng = np.random.default_rng(1)
    q_VA = rng.dirichlet(np.ones(V), A).T
    context = np.tile([5, 1], (V, 1))
    p_VA = np.exp(memory.over(context, np.arange(V), np.log(q_VA)))
    np.testing.assert_allclose(p_VA.sum(0), 1)


def test_where_an_attribute_wrote_nothing_the_other_model_speaks_alone(memory):
    context, target, _ = written(np.random.default_rng(1), 50)
    log_q = np.log(np.random.default_rng(2).random((50, A)))
    np.testing.assert_allclose(memory.over(context, target, log_q)[:, -1], log_q[:, -1])


def test_a_habit_is_remembered(memory):
    context, target, author = written(np.random.default_rng(1), 2000)
    log_q = np.full((2000, A), -np.log(V - 1))
    memory.tune(context, target, author, log_q[:, 0])
    log_p = memory.over(context, target, log_q)
    assert log_p[np.arange(2000), author].mean() > log_q.mean() + 0.02
    habit = (context[:, -1] == 1) & (target == 2 + author)
    assert (log_p[habit, : A - 1].argmax(1) == author[habit]).mean() > 0.95


def test_above_counts_of_all_text_it_is_their_mixture_with_the_attributes_own():
    context, target, author = written(np.random.default_rng(0), 3000)
    both = AttributeKneserNey(V, A, order=3).fit(context, target, author).tune(context, target, author)
    log_q = both.all.log_probabilities(context, target)
    memory = OwnCounts(V, A, order=3).fit(context, target, author).tune(context, target, author, log_q)
    np.testing.assert_allclose(memory.share_A, both.share_MA[0])
    np.testing.assert_allclose(
        memory.over(context, target, np.tile(log_q[:, None], A)), both.under_every(context, target)
    )
