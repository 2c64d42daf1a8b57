"""New rows join a trained model: what it had stays to the bit when frozen, and what is new is learned."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

import atd
from atd.errors import AtdError
from atd.vocabulary import Vocabulary

THINGS = {
    "sea": "ship wave sail gull net tide",
    "farm": "cow field barn hen oats hay",
    "town": "shop street tram bell clerk lamp",
    "sky": "cloud star moon rain hawk storm",
    "wood": "oak fern owl moss pine deer",
}
SMALL = {"K": 12, "F": 16, "D": 8, "epochs": 30, "min_steps": 0, "samples": 20, "batch_size": 256, "lr": 0.02}
SMALL |= {"min_count": 1, "validation": 0.0}


def rows(places: list[str], n: int, seed: int = 0) -> list[dict]:
    draw = random.Random(seed)
    out = []
    for _ in range(n):
        place = draw.choice(places)
        a, b = draw.choices(THINGS[place].split(), k=2)
        year = draw.choice([1990, 2000, 2020])
        out.append({"text": f"the {a} sees the {b} and the {a} .", "place": place, "year": year})
    return out


KNOWN = [place for place in THINGS if place != "wood"]
OLD, NEW = rows(KNOWN, 400), rows(list(THINGS), 300, seed=1)


@pytest.fixture(scope="module", params=["place", "place + year"])
def old(request) -> atd.AttributeModel:
    continuous = ["year"] if "year" in request.param else ()
    return atd.AttributeModel(formula=request.param, continuous=continuous, **SMALL).fit(OLD)


@pytest.fixture(scope="module")
def frozen(old) -> atd.AttributeModel:
    return atd.AttributeModel(init_from=old.trained, **SMALL | {"epochs": 60}).fit(NEW)


def test_old_words_and_attributes_stay_to_the_bit(old, frozen):
    before, after = old.trained, frozen.trained
    n = len(before.vocabulary)
    assert after.vocabulary.words[:n] == before.vocabulary.words
    assert np.array_equal(after.vectors()[:n], before.vectors())
    places = after.design.places(before.attributes)
    assert torch.equal(after.model.vectors()[places], before.model.vectors())
    for name, value in before.model.state_dict().items():
        if name in ("C", "c", "W_fd", "W_fa", "W_fk"):
            assert torch.equal(after.model.state_dict()[name], value), name
    for name in KNOWN:
        assert np.array_equal(after.vector({"place": name}), before.vector({"place": name})), name
        assert np.array_equal(after.vectors({"place": name})[:n], before.vectors({"place": name}))


def test_new_words_and_values_are_learned(old, frozen):
    assert "oak" in frozen.trained.vocabulary and "oak" not in old.trained.vocabulary
    assert "wood" in frozen.trained.columns["place"]
    unseen = [row["text"] for row in rows(["wood"], 40, seed=2)]
    under = {place: frozen.perplexity(unseen, given={"place": place}).mean() for place in THINGS}
    assert under["wood"] < 0.9 * min(under[place] for place in KNOWN)
    assert frozen.trained.predict(unseen, "place").tolist().count("wood") > 30


def test_counts_are_of_all_text(old, frozen):
    before, after = old.trained, frozen.trained
    assert after.vocabulary.counts[after.vocabulary.id("the")] == 3 * (len(OLD) + len(NEW))
    words = dict(zip(after.attributes, after.design.words_A.tolist()))
    old_words = dict(zip(before.attributes, before.design.words_A.tolist()))
    sea = next(name for name in words if "sea" in name)
    assert words[sea] == old_words[sea] + 9 * sum(row["place"] == "sea" for row in NEW)


def test_uses_are_counted_by_attribute_and_add_up(old, frozen):
    words = frozen.trained.vocabulary
    for place in ("sea", "wood"):
        texts = [row["text"].split() for row in OLD + NEW if row["place"] == place]
        counted = frozen.trained.counts({"place": place})
        for word in ("ship", "owl", "the"):
            assert counted[words.id(word)] == sum(text.count(word) for text in texts), (place, word)


def test_unfrozen_everything_goes_on(old):
    after = atd.AttributeModel(init_from=old.trained, freeze=False, **SMALL).fit(NEW).trained
    before = old.trained
    assert not np.allclose(after.vectors()[: len(before.vocabulary)], before.vectors())
    assert not torch.equal(after.model.C, before.model.C)


def test_it_starts_where_the_old_one_was(old):
    """Rows with nothing new, frozen: the same model."""
    again = atd.AttributeModel(init_from=old.trained, **SMALL | {"epochs": 1}).fit(OLD).trained
    before = old.trained
    weights = again.model.state_dict()
    for name, value in before.model.state_dict().items():
        if name not in ("attributes.count", "attributes.words"):
            assert torch.equal(weights[name], value), name


def test_from_a_file_and_again(old, frozen, tmp_path):
    path = frozen.save(tmp_path / "joined.ckpt")
    third = atd.AttributeModel(init_from=path, **SMALL).fit(rows(["farm"], 60, seed=3)).trained
    assert third.attributes == frozen.trained.attributes
    assert np.array_equal(third.vectors(), frozen.trained.vectors())
    assert np.array_equal(third.vector({"place": "wood"}), frozen.trained.vector({"place": "wood"}))


def test_other_attributes_are_refused(old):
    with pytest.raises(AtdError, match="init_from: the attributes are year, those of the trained model place"):
        atd.AttributeModel(["year"], init_from=old.trained, **SMALL).fit(NEW)


def test_old_words_keep_their_places_however_rare():
    old = Vocabulary.from_counts({"a": 5, "b": 3, "<#>": 2, "rare": 1}, min_count=2)
    new = Vocabulary.from_counts({"b": 1, "c": 4, "d": 1, "<#>": 1, "rare": 2}, min_count=2, old=old)
    assert new.words == [*old.words, "c", "rare"]
    assert dict(zip(new.words, new.counts.tolist())) == {
        **{"<unk>": 2, "<s>": 0, "<#>": 3, "a": 5, "b": 4},
        **{"c": 4, "rare": 2},
    }
