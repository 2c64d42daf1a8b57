"""Encoding equals a Python loop over words; sentences end where a reader would end them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from atd.tokeniser import Tokeniser
from atd.vocabulary import NUM_ID, UNK_ID, Vocabulary
from datamodules.encode import count_vocabulary, encode, ids
from datamodules.sentences import split, split_all

TEXT = st.text(st.sampled_from("abAB01 .,'’-_\n\t\u00a0é\u0301ñЖ"), max_size=30)


@settings(max_examples=50)
@given(st.lists(TEXT, min_size=1, max_size=6), st.integers(1, 3), st.one_of(st.none(), st.integers(4, 8)))
def test_encode_equals_a_loop(texts, min_count, max_size):
    tokeniser = Tokeniser()
    documents = [tokeniser.words(text) for text in texts]
    expected = Vocabulary.from_counts(Counter(w for d in documents for w in d), min_count, max_size)
    found, offsets, vocabulary = encode(pa.array(texts), tokeniser, min_count=min_count, max_size=max_size)
    assert vocabulary == expected and np.array_equal(vocabulary.counts, expected.counts)
    assert found.dtype == np.int32 and offsets.dtype == np.int64
    for d, words in enumerate(documents):
        assert np.array_equal(found[offsets[d] : offsets[d + 1]], expected.encode(words))


def test_unknown_words_and_numbers_under_a_given_vocabulary():
    vocabulary = Vocabulary.from_counts({"the": 2, "year": 1})
    found, offsets, _ = encode(pa.array(["the year 1984", "", "what"]), Tokeniser(), vocabulary)
    assert found.tolist() == [3, 4, NUM_ID, UNK_ID] and offsets.tolist() == [0, 3, 3, 4]


def test_counts_of_the_training_documents_only():
    tokens = Tokeniser().folded(pa.array(["a a b", "c c c c"]))
    vocabulary = count_vocabulary(tokens, documents=np.array([True, False]))
    assert vocabulary.words[3:] == ["a", "b"]
    assert ids(tokens, vocabulary).tolist() == [3, 3, 4, 0, 0, 0, 0]


def test_sentences():
    text = 'Mr. Bennet replied. "Is it so?" she asked.\nJ. S. Mill wrote it! No. I know.\n\nCHAPTER II\n\nThe end'
    assert split(text) == [
        "Mr. Bennet replied.",
        '"Is it so?" she asked.',
        "J. S. Mill wrote it!",
        "No.",
        "I know.",
        "CHAPTER II",
        "The end",
    ]
    sentences, parent = split_all(pa.array(["One. Two.", None, "Three"]))
    assert sentences.to_pylist() == ["One.", "Two.", "Three"] and parent.tolist() == [0, 0, 2]
