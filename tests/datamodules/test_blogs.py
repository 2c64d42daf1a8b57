"""Blogs: who trains, who is attributed, what an attribute is."""

from __future__ import annotations

import numpy as np
import pytest

from atd.errors import AtdError
from atd.settings import check_call
from datamodules.blogs import Blogs, folds
from datamodules.readers.blogs import read_blogs


def settings(folder, **changes) -> dict:
    common = {"name": "blogs", "path": folder, "cache": folder / "cache", "context": 3, "batch_size": 64, "seed": 0}
    return {**common, "prolific": 20, "min_count": 2, **changes}


def opened(tmp_path, **changes) -> Blogs:
    data = Blogs(**settings(tmp_path, **changes))
    data.prepare_data()
    data.setup()
    return data


def test_prolific_authors_are_kept_apart(tmp_path):
    data = opened(tmp_path, sample=True)
    posts = data.prolific_posts()
    trained = {a for part in data.encoded.values() for a in part.columns["author"].tolist()}
    attributed = set(posts["author"].to_pylist())
    assert len(attributed) == 20 and not trained & attributed
    total = sum(len(part) for part in data.encoded.values()) + len(posts)
    assert total == len(read_blogs(data.path))
    assert set(data.encoded["train"].attributes.tolist()) == set(range(len(data.attributes)))
    assert all(name.count("/") == 2 for name in data.attributes)


def test_composed_attributes_are_three_per_post(tmp_path):
    data = opened(tmp_path, sample=True, compose=True)
    ids = data.encoded["train"].attributes
    assert ids.shape[1] == 3
    names = np.array(data.attributes)[ids[0]]
    assert [n.split("=")[0] for n in names] == ["gender", "age_group", "industry"]
    tuples = opened(tmp_path, sample=True)
    assert tuples.vocabulary == data.vocabulary  # the same posts are held out: perplexities can be compared
    assert (tuples.encoded["test"].tokens == data.encoded["test"].tokens).all()
    batch = next(iter(data.train_dataloader()))
    assert batch.attribute.shape == (len(batch), 3) and batch.context.shape == (len(batch), 3)


def test_folds_cover_every_post_once_and_spread_authors():
    author = np.repeat(np.arange(7), [40, 40, 25, 10, 9, 3, 2])
    parts = folds(author, 10)
    assert sorted(np.concatenate([test for _, test in parts]).tolist()) == list(range(len(author)))
    for train, test in parts:
        assert not set(train) & set(test)
        assert set(author[test]) <= set(author[train])
        assert np.bincount(author[test])[0] == 4


def test_too_few_authors_is_one_line(tmp_path):
    with pytest.raises(AtdError, match=r"data.prolific=500: there are only 120 authors"):
        opened(tmp_path, sample=True, prolific=500)


def test_the_real_sample(tmp_path, real_data):
    data = opened(tmp_path, path=real_data, prolific=1000, min_count=5)
    assert len(data.attributes) == 234
    posts = data.prolific_posts()
    assert len(posts) == 39_734 and len(set(posts["author"].to_pylist())) == 1000
    assert sum(len(part) for part in data.encoded.values()) == 42_980


def test_posts_limits_every_author(tmp_path):
    whole, some = (opened(tmp_path / str(posts), sample=True, posts=posts) for posts in (None, 5))
    kept = some.prolific_posts()
    assert np.unique(kept["author"].to_numpy(), return_counts=True)[1].tolist() == [5] * 20
    assert set(kept["text"].to_pylist()) < set(whole.prolific_posts()["text"].to_pylist())
    per_author = np.bincount(np.unique(np.concatenate([p.columns["author"] for p in some.encoded.values()]),
                                       return_inverse=True)[1])  # fmt: skip
    assert per_author.max() == 5 and per_author.min() >= 4


def test_held_out_posts_are_bounded(tmp_path):
    few = opened(tmp_path, sample=True, holdout=0.2, holdout_posts=15).encoded
    assert len(few["val"]) == len(few["test"]) == 15
    assert len(opened(tmp_path, sample=True, holdout=0.2).encoded["val"]) > 15


@pytest.mark.parametrize("compose", [False, True])
def test_tuples_left_out_are_nowhere_in_training(tmp_path, compose):
    data = opened(tmp_path, sample=True, leave_out=4, compose=compose)
    everything = opened(tmp_path, sample=True)
    unseen = data.encoded["unseen"]
    seen = set(np.concatenate([data.encoded[s].columns["author"] for s in ("train", "val", "test")]).tolist())
    assert not seen & set(unseen.columns["author"].tolist())
    assert sum(map(len, data.encoded.values())) == sum(map(len, everything.encoded.values()))
    if compose:
        assert unseen.attributes.min() >= 0 and set(unseen.attributes.ravel()) <= set(
            data.encoded["train"].attributes.ravel()
        )
    else:
        assert len(data.attributes) == len(everything.attributes) - 4
        assert set(data.attributes) < set(everything.attributes) and (unseen.attributes == -1).all()


def test_leaving_out_too_many_is_one_line(tmp_path):
    with pytest.raises(AtdError, match=r"data.leave_out=900: only \d+ of \d+ tuples"):
        opened(tmp_path, sample=True, leave_out=900)


@pytest.mark.parametrize(
    "wrong",
    [{"prolific": 0}, {"holdout": 0}, {"holdout": 0.5}, {"holdout_posts": 0}, {"posts": 0}, {"leave_out": -1}],
    ids=str,
)
def test_impossible_values_are_one_line(tmp_path, wrong):
    (key,) = wrong
    with pytest.raises(AtdError, match=rf"^data.{key}={wrong[key]}: must be a .*number"):
        check_call(Blogs, settings(tmp_path, **wrong), "data")
    check_call(Blogs, settings(tmp_path), "data")
