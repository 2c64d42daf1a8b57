"""Kneser–Ney n-grams against a transcription with dictionaries, and the mixture with an attribute's own text."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atd.ngram import FALLBACK, KneserNey, discounts_of, draw, write
from atd.ngram_groups import Groups
from atd.ngram_mixture import AttributeKneserNey, shares

V = 6
START = 1


def windows(texts, N):
    """(contexts, targets) of texts, filled up with the start."""
    context, target = [], []
    for text in texts:
        padded = [START] * N + list(text)
        context += [padded[i : i + N] for i in range(len(text))]
        target += text
    return np.array(context, np.int64).reshape(len(target), N), np.array(target, np.int64)


texts_of_words = st.lists(st.lists(st.sampled_from([0, 2, 3, 4, 5]), min_size=1, max_size=12), min_size=1, max_size=6)
orders = st.integers(1, 5)


def naive(texts, order):
    """p(word, context) by the formulas, one n-gram at a time: n-grams are tuples, one <s> before each text."""
    occurrences = Counter()
    for text in texts:
        padded = (START, *text)
        for end in range(2, len(padded) + 1):
            for n in range(1, min(order, end) + 1):
                occurrences[padded[end - n : end]] += 1
    before = defaultdict(set)
    for gram in occurrences:
        before[gram[1:]].add(gram[0])
    counts = {}
    for gram, c in occurrences.items():
        counts[gram] = c if len(gram) == order or gram[0] == START else len(before[gram])
    discounts = {}
    for n in range(1, order + 1):
        discounts[n] = discounts_of(np.array([c for gram, c in counts.items() if len(gram) == n], int))

    def p(word, context):
        lower = p(word, context[1:]) if context else 1 / V
        after = [c for gram, c in counts.items() if gram[:-1] == context]
        if not after:
            return lower
        D = discounts[len(context) + 1]
        c = counts.get((*context, word), 0)
        return (c - D[min(c, 3)]) / sum(after) + sum(D[min(a, 3)] for a in after) / sum(after) * lower

    return p


@settings(max_examples=60, deadline=None)
@given(texts=texts_of_words, order=orders, seed=st.integers(0, 99))
def test_probabilities_are_those_of_a_transcription(texts, order, seed):
    N = order - 1
    model = KneserNey(V, order).fit(*windows(texts, N))
    p = naive(texts, order)
    heard = windows(texts, N)[0][:5]
    unheard = np.random.default_rng(seed).choice([0, 2, 3, 4, 5], (3, N))
    for context in [*heard, *unheard]:
        given_words = tuple(context.tolist())
        while given_words[:2] == (START, START):  # the transcription has one <s> before a text
            given_words = given_words[1:]
        expected = [p(word, given_words) for word in range(V)]
        np.testing.assert_allclose(model.distribution(context), expected, rtol=1e-12)


@settings(max_examples=60, deadline=None)
@given(texts=texts_of_words, order=orders, seed=st.integers(0, 99))
def test_every_context_has_a_distribution(texts, order, seed):
    rng = np.random.default_rng(seed)
    context, target = windows(texts, 4)
    group = rng.integers(0, 3, len(target))
    model = KneserNey(V, order).fit(context, target, group, 4)  # a group without text among them
    asked = np.concatenate([context, rng.integers(0, V, (20, 4))])
    groups = rng.integers(0, 4, len(asked))
    p_BV = model.distributions(asked, groups)
    np.testing.assert_allclose(p_BV.sum(1), 1)
    assert (p_BV > 0).all()
    word = rng.integers(0, V, len(asked))
    np.testing.assert_allclose(
        np.exp(model.log_probabilities(asked, word, groups)), p_BV[np.arange(len(asked)), word], rtol=1e-12
    )


def test_groups_keep_their_text_apart():
    context, target = windows([[2, 3, 4, 3, 2]], 2)
    both = KneserNey(V, 3).fit(np.tile(context, (2, 1)), np.concatenate([target, target]), np.repeat([0, 1], 5), 2)
    alone = KneserNey(V, 3).fit(context, target)
    swapped = KneserNey(V, 3).fit(*windows([[2, 3, 4, 3, 2], [5, 5, 0]], 2), np.repeat([0, 1], [5, 3]), 2)
    np.testing.assert_allclose(both.distributions(context, np.ones(5)), both.distributions(context, np.zeros(5)))
    assert np.abs(swapped.distribution([5, 5], 0) - swapped.distribution([5, 5], 1)).max() > 0.1
    assert alone.distribution([START, 2])[3] > 0.4


def test_discounts_are_chen_and_goodmans_where_counts_of_counts_allow():
    counts = np.repeat([1, 2, 3, 4, 9], [40, 20, 10, 5, 3])
    share = 40 / (40 + 2 * 20)
    expected = [0, 1 - 2 * share * 20 / 40, 2 - 3 * share * 10 / 20, 3 - 4 * share * 5 / 10]
    np.testing.assert_allclose(discounts_of(counts), expected)
    for odd in ([7, 7, 7], [1, 1], [], [1, 2, 2, 2, 2, 2, 3, 4]):
        D = discounts_of(np.array(odd, int))
        assert (D[1:] > 0).all() and (D <= [0, 1, 2, 3]).all()
    assert (discounts_of(np.array([7, 7, 7])) == FALLBACK).all()


def test_too_short_contexts_are_refused():
    with pytest.raises(ValueError, match="5-grams need 4 words"):
        KneserNey(V).fit(*windows([[2, 3]], 3))


def test_draws_follow_the_distribution():
    rng = np.random.default_rng(0)
    p = np.array([0.0, 0.5, 0.3, 0.2, 0.0])
    for temperature in (1.0, 0.5):
        found = np.bincount(draw(np.tile(p, (20_000, 1)), rng, temperature), minlength=5) / 20_000
        expected = p ** (1 / temperature) / (p ** (1 / temperature)).sum()
        np.testing.assert_allclose(found, expected, atol=0.02)
    assert (draw(np.tile(p, (3, 1)), rng, 0) == 1).all()


def test_a_model_writes_what_it_read():
    text = [2, 3, 4, 5] * 50
    model = KneserNey(V, 3).fit(*windows([text], 2))
    start = np.tile([2, 3], (300, 1))  # more than a batch
    written = write(lambda context, rows: model.distributions(context), start, 6, np.random.default_rng(0), 0.0)
    assert (written == [4, 5, 2, 3, 4, 5]).all()
    wild = write(lambda c, rows: model.distributions(c), start, 6, np.random.default_rng(0), forbid=(4,))
    assert not (wild == 4).any() and (wild[:, 0] != written[:, 0]).all()


def speakers(rng, n, A=3):
    """n texts of A speakers; each has a favourite word after 2."""
    who = rng.integers(0, A, n)
    texts = [[w for _ in range(10) for w in (2, 3 + s if rng.random() < 0.9 else 0)] for s in who]
    return *windows(texts, 4), np.repeat(who, 20)


def test_own_text_is_used_where_it_helps():
    rng = np.random.default_rng(0)
    train, dev, test = (speakers(rng, n) for n in (40, 20, 20))
    model = AttributeKneserNey(V, 3).fit(*train).tune(*dev)
    mixed = model.perplexity(*test)
    assert mixed < 0.95 * model.all.perplexity(*test[:2])
    shuffled = rng.integers(0, 3, len(train[2]))
    noise = AttributeKneserNey(V, 3).fit(*train[:2], shuffled).tune(*dev)
    assert noise.share_MA.max() < model.share_MA.min()
    assert noise.perplexity(*test) < 1.02 * noise.all.perplexity(*test[:2])


def test_a_text_under_every_attribute():
    context, target, who = speakers(np.random.default_rng(2), 20)
    model = AttributeKneserNey(V, 3).fit(context, target, who).tune(context, target, who)
    found_BA = model.under_every(context, target)
    for a in range(3):
        np.testing.assert_allclose(found_BA[:, a], model.log_probabilities(context, target, np.full(len(who), a)))


@given(st.integers(1, 5), st.integers(1, 300), st.integers(0, 2**32 - 1))
def test_all_groups_at_once_equal_one_after_another(order, B, seed):
    """Groups without text, contexts that only some have, and texts that open."""
    rng = np.random.default_rng(seed)
    G = 4
    context, target = rng.integers(0, V, (B, 4)), rng.integers(0, V, B)
    context[rng.random(context.shape) < 0.2] = START
    model = KneserNey(V, order).fit(context, target, rng.integers(0, G - 1, B), G)
    asked, word, floor = rng.integers(0, V, (50, 4)), rng.integers(0, V, 50), rng.random(50)
    found_BG = Groups(model, G).probabilities(asked, word, floor)
    for g in range(G):
        np.testing.assert_array_equal(found_BG[:, g], model.probabilities(asked, word, np.full(50, g), floor))


def test_columns_of_attributes_and_values_without_text():
    rng = np.random.default_rng(1)
    context, target, who = speakers(rng, 30)
    other = rng.integers(3, 5, len(who))
    model = AttributeKneserNey(V, 7).fit(context, target, np.stack([who, other], 1))
    model.tune(context, target, np.stack([who, other], 1))
    unheard = np.full((len(who), 2), 6)
    np.testing.assert_allclose(
        model.log_probabilities(context, target, unheard), model.all.log_probabilities(context, target)
    )
    both = np.stack([who, other], 1)[:50]
    p_BV = model.distributions(context[:50], both)
    np.testing.assert_allclose(p_BV.sum(1), 1)
    np.testing.assert_allclose(
        np.log(p_BV[np.arange(50), target[:50]]), model.log_probabilities(context[:50], target[:50], both)
    )


def test_shares_make_held_out_text_likeliest():
    rng = np.random.default_rng(0)
    value = np.repeat([0, 1], [20_000, 3])
    p, own = rng.random((2, len(value)))
    found = shares(p, own, value, 3)
    losses = [-np.log((1 - s) * p + s * own)[value == 0].sum() for s in np.linspace(0.01, 0.99, 99)]
    assert found[0] == pytest.approx(np.linspace(0.01, 0.99, 99)[np.argmin(losses)], abs=0.02)
    assert found[1] == pytest.approx(found[0], abs=0.05)  # three words say little
    assert found[2] == pytest.approx(found[0], abs=0.01)  # none say nothing
