"""Trees and padded texts as batches, on trees small enough to check by eye."""

from __future__ import annotations

import numpy as np
import pytest

from atd.errors import AtdError
from datamodules.treebank import lines
from datamodules.trees import PhraseLoader, TreeLoader


def test_trees_join_the_right_children(open_treebank):
    data = open_treebank()
    batch = data.trees("train").batch(np.array([1, 0]))
    assert batch.levels == [6, 2, 2]
    assert data.vocabulary.decode(batch.word.tolist()) == ["bad", "film", ".", "it", "'s", "great"]
    assert batch.left.tolist() == [0, 4, 6, 3] and batch.right.tolist() == [1, 5, 2, 7]
    assert batch.label[batch.root].tolist() == [1, 3]
    assert batch.label.tolist() == [1, 2, 2, 2, 2, 4, 1, 4, 1, 3]


def test_trees_of_a_held_out_split_are_numbered_from_zero(open_treebank):
    trees = open_treebank().trees("test")
    assert trees.bounds.tolist() == [0, 1, 6] and trees.left.tolist() == [-1, 2, 3, -1, -1, -1]
    assert trees.right.tolist() == [-1, 5, 4, -1, -1, -1] and trees.height.tolist() == [0, 2, 1, 0, 0, 0]


def test_a_tree_that_is_not_binary_is_named(open_treebank, tmp_path):
    (tmp_path / "sst" / "train.txt").write_text("(3 great)\n(3 (2 a) (2 b) (2 c))\n")
    data = open_treebank()
    assert len(data.phrases()) == 5  # language models do without the trees
    with pytest.raises(AtdError, match="tree 2 is not binary"):
        data.trees("train")


def test_loader_shows_every_tree_once_and_repeats_itself(open_treebank):
    loader = TreeLoader(open_treebank().trees("train"), 2, seed=1)
    orders = []
    for epoch in (0, 1, 0):
        loader.set_epoch(epoch)
        orders.append([batch.label[batch.root].tolist() for batch in loader])
    assert orders[0] == orders[2] and len(loader) == 2
    assert sorted(label for batch in orders[0] for label in batch) == [1, 3, 3]


def test_phrase_loader_pads_and_shows_every_phrase_once(open_treebank):
    data = open_treebank()
    seen, sentences = [], 0
    for batch in PhraseLoader(data.phrases(), 4, seed=3):
        assert batch.word.shape[0] == len(batch.label) <= 4
        seen += [data.vocabulary.decode(row[row >= 0].tolist()) for row in batch.word]
        sentences += len(batch.root)
    assert sorted(seen) == sorted(lines(data.phrases()))
    assert sentences == 3


@pytest.mark.parametrize("kind", ["trees", "phrases"])
def test_a_loader_goes_on_where_it_stopped(open_treebank, kind):
    data = open_treebank()

    def loader():
        return TreeLoader(data.trees("train"), 1, 5) if kind == "trees" else PhraseLoader(data.phrases(), 2, 5)

    whole, stopped, resumed = loader(), loader(), loader()
    whole.set_epoch(2)
    stopped.set_epoch(2)
    expected = [batch.word.tolist() for batch in whole]
    batches = iter(stopped)
    next(batches)
    next(batches)
    resumed.load_state_dict(stopped.state_dict())
    resumed.set_epoch(2)
    assert [batch.word.tolist() for batch in resumed] == expected[2:]


def test_sentences_in_order_are_not_shuffled(open_treebank):
    data = open_treebank()
    (batch,) = PhraseLoader(data.sentences("train"), 8, shuffle=False)
    assert batch.label.tolist() == [3, 1, 3] and batch.root.tolist() == [0, 1, 2]
    assert (batch.word[2] >= 0).tolist() == [True, False, False]
