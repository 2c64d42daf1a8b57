"""The tagger is trained once, tags every token in its place, and disturbs no one's random numbers."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from atd.tokeniser import Tokeniser, Tokens
from datamodules import tagger
from datamodules.tagger import Recipe, load_tagger, tagger_key


@pytest.fixture(scope="module")
def recipe(tiny_recipe) -> Recipe:
    return Recipe(**tiny_recipe)


@pytest.fixture(scope="module")
def trained(tagged_books, tagger_cache, recipe):
    before = random.getstate(), np.random.get_state()[1].tolist()
    out = load_tagger(tagged_books, tagger_cache, recipe)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before
    return out


def test_accuracy_is_that_on_held_out_text(trained, tagged_books):
    from datamodules.readers.tagged import read_tagged

    dev = read_tagged(tagged_books, "dev")
    found = list(trained.tag(dev["words"].to_pylist()))
    right = [a == b for x, y in zip(found, dev["tags"].to_pylist(), strict=True) for a, b in zip(x, y, strict=True)]
    assert np.mean(right) == pytest.approx(trained.accuracy, abs=0.002)  # spaCy leaves a few unaligned tags out
    assert trained.accuracy > 0.9


def test_trained_once(trained, tagged_books, tagger_cache, recipe, monkeypatch):
    monkeypatch.setattr(tagger, "train_tagger", None)
    again = load_tagger(tagged_books, tagger_cache, recipe)
    assert again.name == trained.name and again.accuracy == trained.accuracy
    words = [["The", "captain", "sailed", "."]]
    assert list(again.tag(words)) == list(trained.tag(words))
    assert sorted(p.name for p in tagger_cache.glob("tagger-*")) == [trained.name, f"{trained.name}.lock"]


def test_tokens_get_the_tags_of_their_pieces(trained):
    texts = pa.array(["The ship sailed. He saw two ships", None, "a " * 150 + "b", "", "Stop!"])
    tokens = Tokeniser()(texts)
    index, names = trained.tag_tokens(tokens)
    assert index.dtype == np.int32 and len(index) == len(tokens.tokens) and names == sorted(names)
    tags = [names[i] for i in index]
    a = tokens.offsets
    assert tags[: a[1]] == [
        t for s in trained.tag([["The", "ship", "sailed", "."], ["He", "saw", "two", "ships"]]) for t in s
    ]
    assert tags[a[2] : a[2] + 60] == next(trained.tag([["a"] * 60]))  # what never ends is cut
    assert trained.tag_tokens(Tokens(np.zeros(0, np.int32), np.zeros(2, np.int64), []))[1] == []


def test_pieces_cover_all_tokens():
    tokens = Tokeniser()(pa.array(["a b. c d", "", "x " * 130]))
    cuts = list(tagger._cuts(tokens))
    assert cuts == [0, 3, 5, 65, 125]


def test_other_recipes_are_other_taggers(tagged_books, recipe):
    assert tagger_key(tagged_books, recipe) != tagger_key(tagged_books, Recipe())
    assert tagger_key(tagged_books, recipe) == tagger_key(tagged_books, recipe)


def test_halves_share_no_sentence(tagged_books, recipe, monkeypatch):
    from datamodules.readers.tagged import read_tagged

    train = read_tagged(tagged_books, "train")
    seen = []
    monkeypatch.setattr(tagger, "_examples", lambda nlp, table: seen.append(table["words"].to_pylist()) or 1 / 0)
    for half in (0, 1):
        with pytest.raises(ZeroDivisionError):
            tagger.train_tagger(train, train, replace(recipe, half=half, sentences=None))
    assert seen == [train["words"].to_pylist()[0::2], train["words"].to_pylist()[1::2]]


def test_an_installed_pipeline_comes_first(monkeypatch, tmp_path):
    import spacy

    monkeypatch.setattr(
        spacy.util, "get_installed_models", lambda: ["de_core_news_lg", "en_core_web_sm", "en_core_web_md"]
    )
    monkeypatch.setattr(spacy, "load", lambda name, exclude: spacy.blank("en"))
    assert load_tagger(tmp_path, tmp_path).name == "en_core_web_md"
    monkeypatch.setattr(spacy.util, "get_package_version", lambda name: "3.8.0")
    assert tagger_key(tmp_path) == {"pipeline": "en_core_web_md", "version": "3.8.0"}
