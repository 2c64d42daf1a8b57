"""The treebank: its sentences and phrases, its words, and the corpus that language models see."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from atd.errors import AtdError
from atd.settings import check_call
from datamodules.readers.trees import read_trees
from datamodules.treebank import LABELS, Treebank, lines


def texts(part) -> list[str]:
    return [" ".join(line) for line in lines(part)]


def test_sentences_have_lower_case_words_and_their_label(open_treebank):
    data = open_treebank()
    assert texts(data.sentences("train")) == ["it 's great", "bad film .", "great"]
    assert data.sentences("train").columns["label"].tolist() == [3, 1, 3]
    assert texts(data.sentences("val")) == ["<unk> <unk> .", "bad"]
    assert data.sentences("test").columns["root"].all()


def test_phrases_are_distinct_and_labelled_by_their_mean(open_treebank):
    phrases = open_treebank().phrases()
    found = texts(phrases)
    assert found == ["it 's great", "it", "'s great", "'s", "great", "bad film .", "bad film", "bad", "film", "."]
    label = dict(zip(found, phrases.columns["label"].tolist(), strict=True))
    assert label["great"] == 4  # 4 and 3: the mean 3.5 is rounded to the even number
    assert label["bad film"] == 1
    roots = {text for text, root in zip(found, phrases.columns["root"], strict=True) if root}
    assert roots == {"it 's great", "bad film .", "great"}


def test_words_are_counted_once_per_sentence(open_treebank):
    data = open_treebank()
    assert dict(zip(data.vocabulary.words, data.vocabulary.counts.tolist(), strict=True))["great"] == 2
    assert data.vocabulary.counts.sum() == 7
    rare = open_treebank(min_count=2)
    assert rare.vocabulary.words[3:] == ["great"] and rare.vocabulary.counts[0] == 5
    assert len(rare.phrases()) == 10  # distinct before rare words become <unk>
    assert open_treebank(max_size=5).vocabulary.words[3:] == ["great", "'s"]


def test_held_out_words_come_last_and_are_read_if_they_have_a_vector(open_treebank, tmp_path):
    """Those that only dev and test have; a rare word of train is none of them."""
    data = open_treebank(held_out_words=True, vectors=str(tmp_path / "vectors.txt"), min_count=2)
    assert data.vocabulary.words[3:] == ["great", "8", "wonderful", "zzz"]
    assert data.vocabulary.counts[4:].tolist() == [0, 0, 0]
    assert texts(data.sentences("val")) == ["wonderful <unk> <unk>", "<unk>"]
    assert texts(data.sentences("test"))[1] == "wonderful 8 <unk>"
    without = open_treebank(held_out_words=True, min_count=2)
    assert without.vocabulary == data.vocabulary
    assert texts(without.sentences("test"))[1] == "<unk> <unk> <unk>"


def test_the_cache_depends_on_the_vectors(open_treebank, tmp_path):
    path = tmp_path / "vectors.txt"
    open_treebank(held_out_words=True, vectors=path)
    path.write_text(path.read_text() + "zzz 3 3\n")
    data = open_treebank(held_out_words=True, vectors=path)
    assert texts(data.sentences("val"))[0] == "wonderful zzz ."


def test_language_models_see_phrases_and_held_out_sentences(open_treebank):
    data = open_treebank()
    assert [len(data.encoded[split]) for split in ("train", "val", "test")] == [10, 2, 2]
    ids = np.concatenate([part.attributes for part in data.encoded.values()])
    assert ids.tolist() == list(range(14)) and len(data.attributes) == 14
    assert data.attributes[:2] == ["it 's great", "it"] and data.attributes[-2] == "bad"
    batch = next(iter(data.train_dataloader()))
    assert batch.attribute.max() < 10


def test_labels_as_attributes_of_whole_sentences(open_treebank):
    data = open_treebank(attribute="label", roots=True)
    assert data.attributes == list(LABELS)
    assert data.encoded["train"].attributes.tolist() == [3, 1, 3]
    phrases = open_treebank(attribute="label").encoded["train"]
    assert (phrases.attributes == phrases.columns["label"]).all() and len(phrases) == 10


def test_one_cache_serves_every_attribute(open_treebank, tmp_path):
    for settings in ({}, {"roots": True}, {"attribute": "label"}):
        open_treebank(**settings)
    assert len(list((tmp_path / "cache").glob("*.arrow"))) == 1


def test_fewer_sentences_on_the_sample(open_treebank):
    data = open_treebank(sample=True, sentences=40)
    assert [len(data.sentences(split)) for split in ("train", "val", "test")] == [40, 10, 10]
    table = read_trees(data.path, "train", most=40)
    assert len(data.phrases()) == len({text.lower() for text in table["text"].to_pylist()})
    whole = open_treebank(sample=True)
    assert len(whole.vocabulary) > len(data.vocabulary)
    assert texts(whole.sentences("train"))[:40] == texts(data.sentences("train"))


def test_another_process_opens_the_cache_itself(open_treebank):
    data = open_treebank()
    sent = pickle.dumps(data)
    assert len(sent) < 5000  # settings, no texts
    received = pickle.loads(sent)
    assert not received.encoded and not received.nodes
    received.setup()
    assert texts(received.phrases()) == texts(data.phrases())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tokeniser": "fast"}, "data.tokeniser.kind=fast: the words are the leaves of trees; use whitespace"),
        ({"vectors": "v.txt"}, "data.vectors=v.txt: .* set data.held_out_words=true"),
        ({"vectors": "v.txt", "held_out_words": True}, "data.vectors=v.txt: no such file"),
    ],
)
def test_settings_that_cannot_be_are_refused(open_treebank, settings, message):
    with pytest.raises(AtdError, match=message):
        open_treebank(**settings)


def test_an_unknown_attribute_is_refused():
    given = {"name": "t", "path": ".", "context": 3, "batch_size": 64, "seed": 0, "cache": "."}
    with pytest.raises(AtdError, match=r"data.attribute=mood: must be one of phrase, label"):
        check_call(Treebank, {**given, "attribute": "mood"}, "data")


def test_the_real_treebank(open_treebank, real_data):
    vectors = real_data / "vectors" / "glove.6B.100d.subset.txt.gz"
    data = open_treebank(path=real_data, held_out_words=True, vectors=vectors)
    assert [len(data.sentences(split)) for split in ("train", "val", "test")] == [8544, 1101, 2210]
    assert (data.sentences("test").columns["label"] != 2).sum() == 1821
    assert len(data.nodes["train"]) == 318_582 == len(data.trees("train").label)
    words = data.vocabulary.words[3:]
    unseen = data.vocabulary.counts[3:] == 0
    assert words == sorted(words, key=lambda w: (-data.vocabulary.counts[data.vocabulary.index[w]], w))
    assert len(words) == 19_538 and unseen.sum() > 1000
