"""Tokenising whole columns equals tokenising text by text; options, languages, spaCy's rules, odd texts."""

from __future__ import annotations

import sys

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atd import arrow_text
from atd.errors import AtdError
from atd.tokeniser import Tokeniser
from atd.vocabulary import NUM

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
    with pytest.raises(AtdError, match="no tokeniser of kind 'fats'; it is one of fast, spacy, whitespace"):
        Tokeniser("fats")


def test_spacy_rules_on_pieces_equal_spacy_on_the_text():
    import spacy

    text = "Don't worry: Mr. O'Neill's e-mail (a.k.a. x@y.org) costs $5.50/month, i.e. 10% more!"
    expected = [t.text for t in spacy.blank("en").tokenizer(text)]
    assert Tokeniser("spacy")(pa.array([text])).document(0) == expected
    with pytest.raises(AtdError, match="spaCy has no tokenizer for language 'xyz'; use the tokeniser of kind 'fast'"):
        Tokeniser("spacy", language="xyz").words("a")


@given(st.lists(st.one_of(st.none(), TEXT), max_size=8), st.integers(1, 40))
def test_columns_equal_single_texts(texts, size):
    """Whatever the slices that the threads take."""
    whole, arrow_text.SLICE = arrow_text.SLICE, size
    try:
        tokens = Tokeniser()(pa.chunked_array([texts[:3], texts[3:]], type=pa.string()))
    finally:
        arrow_text.SLICE = whole
    rule = Tokeniser().rule()
    assert [tokens.document(d) for d in range(len(tokens))] == [
        [token for piece in (text or "").split() for token in rule(piece)] for text in texts
    ]


@given(st.lists(st.one_of(st.none(), TEXT), max_size=4))
def test_a_list_of_texts_equals_a_column(texts):
    listed, column = Tokeniser().folded(texts), Tokeniser().folded(pa.array(texts, pa.string()))
    assert [listed.document(d) for d in range(len(texts))] == [column.document(d) for d in range(len(texts))]


def test_many_texts_in_a_list_equal_few():
    for texts in (["It's so", None, "№ 7"] * 50, ["half a pair \ud83d", "ok"] * 60):
        whole = Tokeniser().folded(texts)
        assert [whole.document(d) for d in range(3)] == [Tokeniser().folded([text]).document(0) for text in texts[:3]]


def test_spacy_is_asked_for_only_where_it_is_needed(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    assert Tokeniser().words("so it is") == ["so", "it", "is"]
    with pytest.raises(AtdError, match="needs spaCy: pip install spacy"):
        Tokeniser("spacy").words("so it is")


@given(TEXT)
def test_nothing_is_lost_but_space_and_underscores(text):
    tokens = Tokeniser()(pa.array([text])).document(0)
    assert "".join(tokens) == "".join(text.split()).replace("_", "")


def test_a_long_word_takes_no_longer_than_it_should():
    assert Tokeniser().words("a" * 100_000 + "1_" + "b." * 50_000)[0].startswith("aaa")


@given(st.lists(st.one_of(st.none(), st.text()), max_size=5))
def test_characters_lose_nothing(texts):
    """Neither white space nor case nor the shape of quotation marks."""
    tokeniser = Tokeniser("characters", lowercase=False)
    whole = ["".join(tokeniser.folded(texts).document(d)) for d in range(len(texts))]
    assert whole == [text or "" for text in texts]


def test_characters_of_a_column_equal_those_of_a_list():
    texts = ["a  B\n", None, "“ü”"]
    listed, column = Tokeniser("characters")(texts), Tokeniser("characters")(pa.array(texts))
    assert listed.types == column.types and listed.tokens.tolist() == column.tokens.tolist()
    assert Tokeniser("characters").words("Á 7") == ["á", " ", "7"]
