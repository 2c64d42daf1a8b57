"""Blogs: who trains, who is attributed, what an attribute is."""

from __future__ import annotations

import numpy as np
import pytest

from atd.errors import AtdError
from datamodules.blogs import Blogs, folds
from datamodules.readers.blogs import read_blogs


def opened(tmp_path, **settings) -> Blogs:
    common = {"name": "blogs", "path": tmp_path, "cache": tmp_path / "cache", "context": 3, "batch_size": 64, "seed": 0}
    data = Blogs(**{**common, "prolific": 20, "min_count": 2, **settings})
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
    context, target, attribute = next(iter(data.train_dataloader()))
    assert attribute.shape == (len(target), 3) and context.shape == (len(target), 3)


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
