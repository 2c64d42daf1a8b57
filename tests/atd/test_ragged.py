"""Ragged texts against plain lists of lists."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from atd.ragged import Ragged, offsets_of, spans, windows
from atd.vocabulary import BOS_ID

TEXTS = st.lists(st.lists(st.integers(3, 99), max_size=6), min_size=1, max_size=8)


def ragged(texts: list[list[int]]) -> Ragged:
    return Ragged(np.array([w for text in texts for w in text], dtype=np.int32), offsets_of([len(t) for t in texts]))


def lists(texts: Ragged) -> list[list[int]]:
    return [texts[i].tolist() for i in range(len(texts))]


@given(TEXTS)
def test_texts_lengths_and_owners(texts):
    made = ragged(texts)
    assert lists(made) == texts and len(made) == len(texts)
    assert made.lengths.tolist() == [len(text) for text in texts]
    assert made.owner.tolist() == [i for i, text in enumerate(texts) for _ in text]
    tokens, offsets = made.flat
    assert tokens.dtype == offsets.dtype == torch.int64
    assert tokens.tolist() == [w for text in texts for w in text] and offsets.tolist() == made.offsets.tolist()


@given(TEXTS, st.data())
def test_take_in_any_order_and_more_than_once(texts, data):
    rows = data.draw(st.lists(st.integers(0, len(texts) - 1), max_size=10))
    made = ragged(texts)
    taken = made.take(np.array(rows, dtype=np.int64))
    assert lists(taken) == [texts[i] for i in rows]
    where, offsets = made.where(np.array(rows, dtype=np.int64))
    assert np.array_equal(made.tokens[where], taken.tokens) and np.array_equal(offsets, taken.offsets)


@given(TEXTS, st.integers(0, 7))
def test_heads_are_the_first_words(texts, words):
    assert lists(ragged(texts).heads(words)) == [text[:words] for text in texts]


@given(TEXTS, st.integers(1, 4), st.data())
def test_windows_stop_at_the_start_of_the_text(texts, N, data):
    made = ragged(texts)
    expected = [([BOS_ID] * N + text[:i])[-N:] for text in texts for i in range(len(text))]
    assert made.windows(N).tolist() == expected
    at = np.array(data.draw(st.lists(st.integers(0, max(0, len(expected) - 1)), max_size=5 * bool(expected))), np.int64)
    assert made.windows(N, at).tolist() == [expected[i] for i in at]


def test_windows_of_given_starts():
    tokens = np.array([5, 6, 7, 8], dtype=np.int32)
    context = windows(tokens, np.array([1, 3]), np.array([0, 2]), 2)
    assert context.dtype == np.int64 and context.tolist() == [[BOS_ID, 5], [BOS_ID, 7]]


def test_spans_and_offsets():
    assert spans(torch.tensor([4, 0, 9]), torch.tensor([2, 0, 3])).tolist() == [4, 5, 9, 10, 11]
    assert offsets_of([]).tolist() == [0] and offsets_of(np.array([2, 0, 1])).tolist() == [0, 2, 2, 3]
