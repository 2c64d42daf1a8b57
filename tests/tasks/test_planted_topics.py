"""Quality beside speed: the planted topics of the benchmark's texts, and how well vectors tell them."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.benchmark import synthetic
from tasks.benchmark.inference import planted_auc

A = 50


@pytest.fixture(scope="module")
def written() -> tuple[np.ndarray, np.ndarray]:
    """Of 600 texts: how often each topic's words occur, and which topics their writers like."""
    tokens, offsets, writer = synthetic.texts(600, 20, 2000, A, seed=1)
    counts = np.zeros((600, synthetic.TOPICS))
    np.add.at(counts, (np.repeat(np.arange(600), np.diff(offsets)), tokens % synthetic.TOPICS), 1)
    return counts, synthetic.liked_topics(A)[writer]


def test_a_writer_likes_three_topics_and_uses_their_words(written):
    counts, liked = written
    assert (liked.sum(1) == 3).all() and (synthetic.liked_topics(A)[:20] == synthetic.liked_topics(20)).all()
    assert counts[liked].mean() > 5 * counts[~liked].mean()


def test_the_area_is_that_of_what_the_vectors_know(written):
    """The topics' own counts tell them all but surely; noise tells nothing; with more noise the area falls."""
    counts, liked = written
    noise = np.random.default_rng(0).normal(size=counts.shape)
    areas = [planted_auc(vectors, liked) for vectors in (counts, counts + 3 * noise, noise)]
    assert areas[0] > 0.93 > areas[1] > 0.6 and 0.45 < areas[2] < 0.55


def test_vectors_of_either_scale_count_alike(written):
    counts, liked = written
    assert planted_auc(counts * 1e-3 + 7, liked) == pytest.approx(planted_auc(counts, liked), abs=1e-3)
