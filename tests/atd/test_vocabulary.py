from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atd.errors import AtdError
from atd.vocabulary import SPECIALS, Vocabulary

VOCABULARY = Vocabulary.from_counts({"sea": 5, "ship": 9, "<#>": 4, "rare": 1}, min_count=2)


def test_order_specials_and_unknown_mass():
    assert VOCABULARY.words == [*SPECIALS, "ship", "sea"]
    assert VOCABULARY.counts.tolist() == [1, 0, 4, 9, 5]


@given(st.dictionaries(st.text(min_size=1, max_size=5), st.integers(1, 20), max_size=30), st.integers(4, 20))
def test_sizes_and_counts_hold_for_any_text(counts, max_size):
    vocabulary = Vocabulary.from_counts(counts, max_size=max_size)
    assert len(vocabulary) <= max_size
    assert vocabulary.counts.sum() == sum(counts.values())
    assert Vocabulary.from_state(vocabulary.state()) == vocabulary
    known = [w for w in counts if w in vocabulary]
    assert vocabulary.decode(vocabulary.encode(known)) == known


def test_unknown_words_are_explained():
    assert VOCABULARY.encode(["sea", "xyz"]).tolist() == [4, 0]
    with pytest.raises(AtdError, match="'shop' is not in the vocabulary of 5 words; did you mean ship"):
        VOCABULARY.id("shop")


@pytest.mark.parametrize("words", [["a", "b", "c"], [*SPECIALS, "a", "a"]])
def test_bad_word_lists_are_refused(words):
    with pytest.raises(AtdError):
        Vocabulary(words, [1] * len(words))


def test_words_of_one_count_are_in_the_order_of_their_characters():
    counts = {"b": 2, "\U0001f600": 2, "\uffff": 2, "a": 2, "é": 2, "z": 9, "B": 2}
    assert Vocabulary.from_counts(counts).words[3:] == ["z", "B", "a", "b", "é", "\uffff", "\U0001f600"]
    half = Vocabulary.from_counts(counts | {"\ud83d": 2})
    assert half.words[3:] == ["z", "B", "a", "b", "é", "\ud83d", "\uffff", "\U0001f600"]
