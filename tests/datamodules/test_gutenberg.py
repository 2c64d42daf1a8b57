"""The books: whole chapters held out of each, by book or by part of speech."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from atd.errors import AtdError
from atd.settings import check_call
from atd.vocabulary import NUM_ID
from datamodules import download, gutenberg
from datamodules.gutenberg import Gutenberg, held_out
from datamodules.readers.books import read_books
from datamodules.readers.folder import blocks


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("cache")


def settings(cache: Path, **options) -> dict:
    common = {"name": "books", "path": "unused", "context": 4, "batch_size": 256, "seed": 0, "cache": cache}
    return common | {"sample": True} | options


def books(cache: Path, **options) -> Gutenberg:
    data = Gutenberg(**settings(cache, **options))
    data.prepare_data()
    data.setup()
    return data


def words(data: Gutenberg, split: str) -> np.ndarray:
    part = data.encoded[split]
    return np.bincount(part.columns["book"], weights=part.lengths)


def test_every_book_is_in_every_split(cache):
    data = books(cache, min_count=2)
    train, val, test = (words(data, split) for split in ("train", "val", "test"))
    assert len(train) == len(data.attributes) == 8 and min(train.min(), val.min(), test.min()) > 0
    for held in (val, test):
        assert np.all(held / (train + val + test) < 0.16) and np.all(held / (train + val + test) > 0.06)
    assert "harland-narwhal" in data.attributes


def test_documents_are_the_chapters_of_their_book(cache):
    data = books(cache)
    table = read_books(data.path)
    texts = {(row["book"], *data.tokens(row["text"])) for row in table.to_pylist()}
    found = {(data.attributes[p.attributes[d]], *p[d].tolist()) for p in data.encoded.values() for d in range(len(p))}
    assert found == texts
    assert (data.encoded["train"].tokens == NUM_ID).any()


def test_the_split_does_not_depend_on_the_seed(cache):
    first, second = (books(cache, seed=seed).encoded["test"].tokens for seed in (0, 1))
    assert np.array_equal(first, second)


def test_the_vocabulary_is_that_of_train(cache):
    data = books(cache, min_count=1)
    assert not (data.encoded["train"].tokens == 0).any() and (data.encoded["test"].tokens == 0).any()


def test_part_of_speech_of_the_next_word(tagged_books, tagger_cache, tiny_recipe, monkeypatch):
    options = {"sample": False, "path": tagged_books, "tagger": tiny_recipe}
    data = books(tagger_cache, attribute="pos", min_count=1, **options)
    part = data.encoded["train"]
    assert part.per_token and len(part.attributes) == len(part.tokens)
    tags = {"the": "DT", ",": ",", "and": "CC", "of": "IN"}
    for word, tag in tags.items():
        of_word = part.attributes[part.tokens == data.vocabulary.id(word)]
        assert (of_word == data.attributes.index(tag)).mean() > 0.95
    batch = next(iter(data.train_dataloader()))
    the = batch.target == data.vocabulary.id("the")
    assert (batch.attribute[the] == data.attributes.index("DT")).float().mean() > 0.9
    assert part.meta["tagger_accuracy"] > 0.9 and part.columns["book"].max() == 1
    monkeypatch.setattr(gutenberg, "load_tagger", None)  # other settings find the tags in the cache
    cut = books(tagger_cache, attribute="pos", min_count=2, sentences=True, **options)
    assert np.array_equal(cut.encoded["train"].attributes, part.attributes)


def test_sentences_as_documents(cache):
    whole, cut = books(cache), books(cache, sentences=True)
    assert len(cut.encoded["train"]) > 20 * len(whole.encoded["train"])
    assert np.array_equal(words(whole, "train"), words(cut, "train"))


@pytest.mark.parametrize("sizes", [[100] * 3, [100] * 20, [5000, 10, 10, 10, 400], list(range(1, 40))])
def test_held_out_shares(sizes):
    split = held_out("a book", sizes, 0.1)
    assert set(split.tolist()) == {0, 1, 2} and np.array_equal(split, held_out("a book", sizes, 0.1))
    if len(sizes) >= 20:
        for part in (1, 2):
            assert abs(np.sum(np.array(sizes)[split == part]) / sum(sizes) - 0.1) < 0.05
    with pytest.raises(AtdError, match="pamphlet: 15 words are too few"):
        held_out("pamphlet", [10, 5], 0.1)


def test_blocks_keep_every_paragraph():
    paragraphs = [f"{i} " + "word " * (i % 9) for i in range(200)]
    pieces = blocks(paragraphs, words=50)
    assert "\n\n".join(pieces) == "\n\n".join(paragraphs)
    assert all(50 <= len(p.split()) < 60 for p in pieces[:-1]) and 25 <= len(pieces[-1].split()) < 85
    assert blocks(["short"], words=50) == ["short"]


def test_missing_books_are_downloaded(tmp_path, monkeypatch):
    """Asked for once, by the name that download knows, into the folder where they are looked for."""
    calls = []

    def fetch(source, folder):
        calls.append((source, folder))
        (folder / "gutenberg").mkdir(parents=True)
        text = "\n\n".join(f"Paragraph {i} " + "word " * 99 for i in range(60))
        (folder / "gutenberg" / "one.txt").write_text(text)

    monkeypatch.setattr(gutenberg, "fetch", fetch)
    data = books(tmp_path / "cache", sample=False, path=tmp_path / "data")
    assert calls == [("gutenberg", tmp_path / "data")] and "gutenberg" in download.SOURCES
    assert data.attributes == ["one"] and all(len(part) for part in data.encoded.values())


@pytest.mark.parametrize("option", [{"attribute": "author"}, {"holdout": 0.5}, {"holdout": 0}])
def test_impossible_settings(cache, option):
    (key,) = option
    with pytest.raises(AtdError, match=f"data.{key}="):
        check_call(Gutenberg, settings(cache, **option), "data")


@pytest.mark.parametrize(
    ("recipe", "says"), [({"width": 0}, "data.tagger.width=0"), ({"epoch": 1}, "did you mean epochs")]
)
def test_impossible_taggers(cache, recipe, says):
    with pytest.raises(AtdError, match=says):
        Gutenberg(**settings(cache, tagger=recipe))


def test_other_settings_are_other_caches(cache):
    variants = ({}, {"holdout": 0.2}, {"sentences": True}, {"min_count": 3}, {"tokeniser": "whitespace"})
    for option in variants:
        books(cache, name="variant", **option)
    assert len(list(cache.glob("variant-*.arrow"))) == len(variants)


def test_the_real_books(real_data, tmp_path):
    data = books(tmp_path, sample=False, path=real_data, min_count=5)
    train, val, test = (words(data, split) for split in ("train", "val", "test"))
    assert len(data.attributes) == 18 and data.attributes[3] == "bible-kjv"
    total = train + val + test
    assert 2.4e6 < total.sum() < 2.7e6 and 12_000 < len(data.vocabulary) < 16_000
    for held in (val, test):
        assert np.all((held / total > 0.04) & (held / total < 0.22))
        assert 0.08 < held.sum() / total.sum() < 0.12
