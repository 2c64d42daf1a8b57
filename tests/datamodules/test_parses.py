"""The treebank as arrays, on trees small enough to check by eye, and on the real one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from atd.errors import AtdError
from datamodules.parses import cut, load_parses
from datamodules.trees import PhraseLoader, TreeLoader

TRAIN = """(3 (2 It) (4 (2 's) (4 Great)))
(1 (1 (1 Bad) (2 film)) (2 .))
(3 great)
"""
HELD = "(4 (4 (2 wonderful) (2 zzz)) (2 .))\n(0 bad)\n"
VECTORS = "great 1 0\nbad -1 0\nfilm 0 1\nwonderful 1 1\n. 0 0.5\n"


@pytest.fixture
def bank(tmp_path):
    folder = tmp_path / "sst"
    folder.mkdir()
    for name, text in {"train": TRAIN, "dev": HELD, "test": HELD}.items():
        (folder / f"{name}.txt").write_text(text)
    (tmp_path / "vectors.txt").write_text(VECTORS)
    return load_parses(tmp_path, tmp_path / "vectors.txt", 2)


def words(bank, texts, i):
    return bank.vocabulary.decode(texts.tokens[texts.offsets[i] : texts.offsets[i + 1]])


def test_sentences_are_lowered_and_unknown_words_marked(bank):
    assert words(bank, bank.sentences["train"], 0) == ["it", "'s", "great"]
    # "wonderful" never occurs in train but has a vector; "zzz" has neither
    assert words(bank, bank.sentences["dev"], 0) == ["wonderful", "<unk>", "."]
    assert bank.sentences["dev"].label.tolist() == [4, 0]


def test_phrases_are_distinct_and_labelled_by_their_mean(bank):
    texts = [" ".join(words(bank, bank.phrases, i)) for i in range(len(bank.phrases))]
    assert sorted(texts) == sorted(["it 's great", "it", "'s great", "'s", "great", "bad film .", "bad film", "bad",
                                    "film", "."])  # fmt: skip
    label = dict(zip(texts, bank.phrases.label.tolist(), strict=True))
    assert label["great"] == 4  # 4 and 3: the mean 3.5 is rounded to the even number
    assert label["bad film"] == 1
    assert {t for t, whole in zip(texts, bank.whole, strict=True) if whole} == {"it 's great", "bad film .", "great"}


def test_trees_join_the_right_children(bank):
    trees = bank.trees["train"]
    batch = trees.batch(np.array([1, 0]))
    assert batch.levels == [6, 2, 2]
    assert bank.vocabulary.decode(batch.word.tolist()) == ["bad", "film", ".", "it", "'s", "great"]
    assert batch.left.tolist() == [0, 4, 6, 3] and batch.right.tolist() == [1, 5, 2, 7]
    assert batch.label[batch.root].tolist() == [1, 3]
    assert batch.label.tolist() == [1, 2, 2, 2, 2, 4, 1, 4, 1, 3]


def test_a_word_without_vector_starts_from_its_company(bank):
    start = bank.vectors[bank.vocabulary.index["'s"]]
    assert torch.isfinite(start).all() and start.norm() > 0
    assert bank.vectors[bank.vocabulary.index["great"]].tolist() == [1, 0]


def test_loader_shows_every_tree_once_and_repeats_itself(bank):
    loader = TreeLoader(bank.trees["train"], 2, seed=1)
    orders = []
    for epoch in (0, 1, 0):
        loader.set_epoch(epoch)
        orders.append([batch.label[batch.root].tolist() for batch in loader])
    assert orders[0] == orders[2] and len(loader) == 2
    assert sorted(label for batch in orders[0] for label in batch) == [1, 3, 3]


def test_phrase_loader_pads_and_shows_every_phrase_once(bank):
    seen, sentences = [], 0
    for batch in PhraseLoader(bank.phrases, bank.whole, 4, seed=3):
        assert batch.word.shape[0] == len(batch.label) <= 4
        seen += [" ".join(bank.vocabulary.decode(row[row >= 0].tolist())) for row in batch.word]
        sentences += len(batch.root)
    assert sorted(seen) == sorted(" ".join(words(bank, bank.phrases, i)) for i in range(len(bank.phrases)))
    assert sentences == 3


def test_cut_keeps_whole_sentences(bank):
    small = cut(bank, 2, 1)
    assert [len(small.sentences[s]) for s in ("train", "dev", "test")] == [2, 1, 1]
    assert len(small.trees["train"]) == 2 and len(small.phrases) == len(small.whole)
    assert small.trees["train"].batch(np.array([0, 1])).levels == [6, 2, 2]


def test_a_tree_that_is_not_binary_is_named(tmp_path):
    (tmp_path / "sst").mkdir()
    for name in ("train", "dev", "test"):
        (tmp_path / "sst" / f"{name}.txt").write_text("(3 great)\n(3 (2 a) (2 b) (2 c))\n")
    (tmp_path / "v.txt").write_text(VECTORS)
    with pytest.raises(AtdError, match="tree 2 is not binary"):
        load_parses(tmp_path, tmp_path / "v.txt", 2)


def test_without_vectors_words_start_at_random_and_alike_every_time(bank, tmp_path):
    one, two = (load_parses(tmp_path, None, 5) for _ in range(2))
    assert one.vectors.shape == (len(one.vocabulary), 5) and torch.equal(one.vectors, two.vectors)
    assert words(one, one.sentences["dev"], 0) == ["<unk>", "<unk>", "."] and one.coverage == 0


def test_vectors_of_another_dimension_are_refused(bank, tmp_path):
    with pytest.raises(AtdError, match=r"model\.K=7"):
        load_parses(tmp_path, tmp_path / "vectors.txt", 7)


def test_the_real_treebank(real_data):
    bank = load_parses(real_data, real_data / "vectors" / "glove.6B.100d.subset.txt.gz", 100)
    assert {s: len(t) for s, t in bank.sentences.items()} == {"train": 8544, "dev": 1101, "test": 2210}
    assert (bank.sentences["test"].label != 2).sum() == 1821
    assert len(bank.trees["train"].label) == 318582 and 0.91 < bank.coverage < 0.92
    assert bank.vectors.isfinite().all()
