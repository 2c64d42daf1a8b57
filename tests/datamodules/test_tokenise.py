"""Tokenising whole columns equals tokenising text by text; encoding equals a Python loop over words."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atd import tokeniser as tokenise
from atd.errors import AtdError
from atd.tokeniser import Tokeniser
from atd.vocabulary import NUM, NUM_ID, UNK_ID, Vocabulary
from datamodules.encode import count_vocabulary, encode, ids
from datamodules.sentences import split, split_all

TEXT = st.text(st.sampled_from("abAB01 .,'’-_\n\t\u00a0é\u0301ñЖ"), max_size=30)


@pytest.mark.parametrize(
    "text, words",
    [
        ("Don't say he's CAN’T", "do n't say he 's ca n't"),
        ("It's 3,000.50 at 12:30, or 7", "it 's <#> at <#> , or <#>"),
        ("o'clock, boys' ma'am", "o'clock , boys ' ma'am"),
        ("Mr. Darcy's well-known U.S. estate...", "mr. darcy 's well - known u.s. estate ..."),
        ("_emphasis_ -- “so” (he said)", 'emphasis -- " so " ( he said )'),
        ("the 1st B52", "the 1st b52"),
        ("non\u00a0breaking", "non breaking"),
        ("cafe\u0301 naïve", "cafe\u0301 naïve"),
        ("", ""),
        (" \n ", ""),
    ],
)
def test_english(text, words):
    assert Tokeniser().words(text) == words.split()


def test_other_languages():
    french = Tokeniser(language="fr").words("L'homme d’aujourd'hui : qu'il")
    assert " ".join(french) == "l' homme d' aujourd'hui : qu' il"
    assert Tokeniser(language="de").words("Straßen-Bahn") == ["straßen", "-", "bahn"]
    assert Tokeniser(language="gu").words("હું ગુજરાતી છું.") == ["હું", "ગુજરાતી", "છું", "."]


def test_options():
    assert Tokeniser(lowercase=False, numbers=False).words("In 1984") == ["In", "1984"]
    assert Tokeniser("whitespace").words("do n't -LRB- 3,5") == ["do", "n't", "-lrb-", NUM]
    with pytest.raises(AtdError, match="kind=fats: must be one of fast, spacy, whitespace"):
        Tokeniser("fats")


def test_spacy_rules_on_pieces_equal_spacy_on_the_text():
    import spacy

    text = "Don't worry: Mr. O'Neill's e-mail (a.k.a. x@y.org) costs $5.50/month, i.e. 10% more!"
    expected = [t.text for t in spacy.blank("en").tokenizer(text)]
    assert Tokeniser("spacy")(pa.array([text])).document(0) == expected
    with pytest.raises(AtdError, match="language=xyz"):
        Tokeniser("spacy", language="xyz").words("a")


@given(st.lists(st.one_of(st.none(), TEXT), max_size=8), st.integers(1, 40))
def test_columns_equal_single_texts(texts, size):
    """Whatever the slices that the threads take."""
    whole, tokenise.SLICE = tokenise.SLICE, size
    try:
        tokens = Tokeniser()(pa.chunked_array([texts[:3], texts[3:]], type=pa.string()))
    finally:
        tokenise.SLICE = whole
    rule = Tokeniser().rule()
    assert [tokens.document(d) for d in range(len(tokens))] == [
        [token for piece in (text or "").split() for token in rule(piece)] for text in texts
    ]


@given(TEXT)
def test_nothing_is_lost_but_space_and_underscores(text):
    tokens = Tokeniser()(pa.array([text])).document(0)
    assert "".join(tokens) == "".join(text.split()).replace("_", "")


def test_a_long_word_takes_no_longer_than_it_should():
    assert Tokeniser().words("a" * 100_000 + "1_" + "b." * 50_000)[0].startswith("aaa")


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
