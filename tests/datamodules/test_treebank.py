"""The treebank as a corpus: phrases, labels and splits, on the sample and on the real one."""

from __future__ import annotations

import numpy as np
import pytest

from atd.errors import AtdError
from datamodules.readers.trees import read_trees
from datamodules.treebank import LABELS, Treebank


def opened(tmp_path, **settings) -> Treebank:
    common = {"name": "treebank", "path": tmp_path, "context": 3, "batch_size": 64, "seed": 0}
    common["cache"] = tmp_path / "cache"
    data = Treebank(tokeniser={"kind": "whitespace", "lowercase": True}, **{**common, **settings})
    data.prepare_data()
    data.setup()
    return data


def test_every_distinct_phrase_is_an_attribute(tmp_path):
    data = opened(tmp_path, sample=True)
    table = read_trees(data.path, "train")
    train = data.encoded["train"]
    assert len(train.offsets) - 1 == len(set(table["text"].to_pylist()))
    assert train.columns["root"].sum() == len(set(table.filter(table["root"])["text"].to_pylist()))
    ids = np.concatenate([part.attributes for part in data.encoded.values()])
    assert sorted(ids.tolist()) == list(range(len(data.attributes)))
    first = " ".join(data.vocabulary.decode(train.tokens[: train.offsets[1]]))
    assert first == data.attributes[train.attributes[0]].lower()
    assert data.encoded["val"].columns["root"].all()


def test_labels_as_attributes_and_fewer_sentences(tmp_path):
    data = opened(tmp_path, sample=True, attribute="label", roots=True, sentences=40)
    assert data.attributes == list(LABELS)
    assert len(data.encoded["train"].offsets) - 1 == 40 and len(data.encoded["test"].offsets) - 1 == 10
    assert (data.encoded["train"].attributes == data.encoded["train"].columns["label"]).all()


def test_unknown_attribute_is_refused(tmp_path):
    with pytest.raises(AtdError, match=r"data.attribute=mood: must be one of phrase, label"):
        opened(tmp_path, attribute="mood")


def test_the_real_treebank(tmp_path, real_data):
    data = opened(tmp_path, path=real_data, attribute="label", roots=True)
    sizes = [len(data.encoded[split].offsets) - 1 for split in ("train", "val", "test")]
    assert sizes == [8544, 1101, 2210]
    binary = data.encoded["test"].columns["label"] != 2
    assert binary.sum() == 1821
