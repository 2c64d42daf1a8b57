"""How often a word is used under an attribute: counted, kept with the model, and what rare words are left out by."""

from __future__ import annotations

import numpy as np
import pytest

import atd
from atd import usage
from atd.encoded import EncodedCorpus
from atd.errors import AtdError

ROWS = [
    {"text": "the ship sees the gull .", "place": "sea", "who": "ann", "year": 1990},
    {"text": "the cow sees the hen .", "place": "farm", "who": "ann", "year": 2000},
    {"text": "the cow sees the cow .", "place": "farm", "who": "bob", "year": 2010},
] * 10
SMALL = {"K": 8, "F": 8, "D": 4, "epochs": 1, "min_steps": 0, "samples": 10, "min_count": 1, "validation": 0.0}


@pytest.fixture(scope="module")
def model() -> atd.Trained:
    return atd.AttributeModel(["place", "who"], **SMALL).fit(ROWS).trained


def count(trained: atd.Trained, word: str, given) -> float:
    return trained.counts(given)[trained.vocabulary.id(word)]


def test_counts_of_values_profiles_and_mixes(model):
    assert count(model, "cow", None) == 30
    assert count(model, "cow", {"place": "farm"}) == 30
    assert count(model, "cow", "who=ann") == 10
    assert count(model, "ship", {"place": "farm"}) == 0
    assert count(model, "cow", {"place": "sea", "who": "bob"}) == 0, "the rarest of the columns decides"
    assert count(model, "the", "0.5*place:sea + 0.5*place:farm") == 60, "the parts of a mix add up"
    assert count(model, "the", model.vector("who=ann")) == 60, "a vector may be anyone's"
    assert count(model, "the", {}) == 60
    with pytest.raises(AtdError, match="there is no column 'colour'; the columns are place, who"):
        model.counts({"colour": "red"})


def test_between_knots_a_text_counts_to_both_in_part():
    trained = atd.AttributeModel(["year"], continuous={"year": 2}, **SMALL).fit(ROWS).trained
    assert trained.columns == {"year": ["1990", "2010"]}
    assert count(trained, "hen", {"year": 1990}) == count(trained, "hen", {"year": 2010}) == 5
    assert count(trained, "ship", {"year": 1990}) == 10


def test_tuples_are_counted_by_their_values():
    trained = atd.AttributeModel(formula="place:who", **SMALL).fit(ROWS).trained
    assert count(trained, "cow", {"place": "farm"}) == 30
    assert count(trained, "cow", {"who": "ann"}) == 10


def test_rare_words_are_left_out(model):
    near = dict(model.most_similar("the", {"place": "farm"}, n=50))
    assert {"ship", "cow", "hen"} <= set(near)
    often = dict(model.most_similar("the", {"place": "farm"}, n=50, min_count=10))
    assert {"cow", "hen"} <= set(often) and "ship" not in often
    assert all(often[word] == near[word] for word in often)
    found = model.compare("the", {"place": "farm"}, {"who": "bob"}, n=50, min_count=15)
    assert set(found.common + found.only_a + found.only_b) == {"cow", ".", "sees"}


def test_they_are_kept_with_the_model(model, tmp_path):
    again = atd.load(model.save(tmp_path / "model.ckpt"))
    assert np.array_equal(again.usage.toarray(), model.usage.toarray())
    again.usage = None
    with pytest.raises(AtdError, match="does not say which attribute uses a word how often"):
        again.counts({"place": "sea"})


def test_counting_in_parts_is_counting(monkeypatch):
    draw = np.random.default_rng(0)
    lengths = draw.integers(0, 9, 40)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    tokens = draw.integers(0, 6, offsets[-1]).astype(np.int32)
    texts = EncodedCorpus(tokens, offsets, draw.integers(0, 3, (40, 2)).astype(np.int32))
    whole = usage.usage_of(texts, 6, 3)
    monkeypatch.setattr(usage, "TOKENS", 7)
    assert np.array_equal(usage.usage_of(texts, 6, 3).toarray(), whole.toarray())
    assert whole.sum() == 2 * len(tokens)
