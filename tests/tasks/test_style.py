"""What style is measured with: the judge of held-out text, the writers that count, the curves, and the table of every
text under every vector."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.lm import MultiplicativeLM
from atd.ragged import offsets_of
from tasks.generation import measurable, of_books
from tasks.generation.curves import Point, style_at_fluency, variety
from tasks.generation.judge import CONTEXT, Judge, confusion, evenly, pieces
from tasks.generation.rivals import Copies, hashed, rivals
from tasks.generation.style import perplexity_matrix

V = 12


def test_perplexity_matrix_is_the_exact_perplexity():
    torch.manual_seed(0)
    model = MultiplicativeLM(30, 6, 4, 5, 2, 3).eval()
    x_AD = model.vectors().detach()
    context, target = torch.randint(30, (50, 2)), torch.randint(30, (50,))
    book = torch.arange(50) % 3
    matrix = perplexity_matrix(model, context, target, book, x_AD)
    with torch.no_grad():
        for i in range(3):
            for j in range(3):
                mine = book == i
                expected = model.nll(context[mine], target[mine], x_AD[j].expand(int(mine.sum()), -1)).exp()
                np.testing.assert_allclose(matrix[i, j], expected, rtol=1e-5)


def steps(seed: int, texts: int = 12, words: int = 120) -> EncodedCorpus:
    """Two books of the same words: the first counts up, the second down, now and then either jumps."""
    rng = np.random.default_rng(seed)
    book = np.arange(texts) % 2
    moves = np.where(rng.random((texts, words)) < 0.15, rng.integers(0, V - 3, (texts, words)), 1 - 2 * book[:, None])
    tokens = 3 + np.cumsum(moves, axis=1) % (V - 3)
    return EncodedCorpus(tokens.ravel().astype(np.int32), offsets_of([words] * texts), book.astype(np.int32))


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge(V, 2, steps(1), steps(2))


def test_the_judge_knows_the_book_by_the_order_of_its_words(judge):
    real, book = pieces(steps(3), 20, 30)
    read = judge.read(real)
    assert (read.taken_for == book).mean() > 0.95
    np.testing.assert_allclose(np.exp(read.log_share).sum(1), 1)
    shuffled = judge.read(np.random.default_rng(0).permuted(real, axis=1))
    assert (shuffled.taken_for == book).mean() < 0.8
    assert read.fluency > 0.5 > 0 > shuffled.fluency


def test_dull_words_are_not_fluent(judge):
    assert judge.read(np.full((5, 24), 4)).fluency < 0


def test_unknown_words_are_not_judged(judge):
    real, _ = pieces(steps(3), 20, 5)
    unknown = real.copy()
    unknown[:, -1] = 0
    read, without = judge.read(real), judge.read(unknown)
    assert (without.words_n == read.words_n - 1).all()
    assert (without.ordered_nA > read.ordered_nA).all()  # a factor less


def test_pieces_stay_within_texts():
    texts = EncodedCorpus(np.arange(3, 15), np.array([0, 7, 9, 12]), np.array([0, 1, 1]))
    ids, book = pieces(texts, 3, 100)
    assert ids.shape == (6, CONTEXT + 3) and book.tolist() == [0] * 5 + [1]
    assert ids[0].tolist() == [1, 1, 1, 1, 3, 4, 5] and ids[-1].tolist() == [1, 1, 1, 1, 12, 13, 14]
    assert ids[4].tolist() == [3, 4, 5, 6, 7, 8, 9]


def test_writers_that_count_write_like_their_book(judge):
    train, val = steps(3, texts=30), steps(4)
    samplers = rivals(V, 2, train, val, 20, seed=0)
    book = np.repeat([0, 1], 40)
    read = {name: judge.read(sample(book, 1.0)) for name, sample in samplers.items()}
    right = {name: (r.taken_for == book).mean() for name, r in read.items()}
    assert right["own-bigrams"] > 0.9 and right["own-kneser-ney"] > 0.9 and right["kneser-ney-attributes"] > 0.9
    assert 0.3 < right["kneser-ney"] < 0.7 and 0.3 < right["own-unigrams"] < 0.7
    assert read["own-bigrams"].fluency > 0.5 > 0 > read["own-unigrams"].fluency


def test_copies_are_runs_of_five_words():
    train = EncodedCorpus(np.array([3, 4, 5, 6, 7, 8]), np.array([0, 6]), np.array([0]))
    copies = Copies(train)
    assert copies.share(np.array([[3, 4, 5, 6, 7, 8]])) == 1
    assert copies.share(np.array([[3, 4, 5, 6, 7, 9]])) == 0.5
    assert copies.share(np.array([[8, 7, 6, 5, 4, 3]])) == 0
    many = np.random.default_rng(0).integers(0, 50, (100_000, 5))
    assert len(np.unique(hashed(many))) == len(np.unique(many, axis=0))


def test_style_at_the_fluency_of_real_text():
    curve = {1.0: Point(80, 60, 0, 0), 0.8: Point(70, 90, 0, 0), 0.6: Point(50, 130, 0, 0)}
    assert style_at_fluency(curve) == pytest.approx(65)  # a quarter of the way from 90 to 130
    assert style_at_fluency({1.0: Point(80, 60, 0, 0), 0.5: Point(99, 99, 0, 0)}) is None
    assert style_at_fluency({1.0: Point(80, 120, 0, 0), 0.5: Point(60, 150, 0, 0)}) == 80


def test_variety_counts_different_words_after_the_context():
    assert variety(np.array([[9, 8, 7, 6, 3, 3, 4, 3], [3, 3, 3, 3, 3, 4, 5, 6]])) == pytest.approx(75)


def test_books_without_enough_text_are_not_measured():
    texts = EncodedCorpus(np.arange(3, 23), np.array([0, 8, 11, 20]), np.array([2, 1, 0]))
    data = SimpleNamespace(encoded=dict.fromkeys(("train", "val", "test"), texts), attributes=["a", "b", "c"])
    assert measurable(data, SimpleNamespace(words=3, books=9)).tolist() == [0, 1, 2]
    assert measurable(data, SimpleNamespace(words=5, books=9)).tolist() == [0, 2]
    assert measurable(data, SimpleNamespace(words=3, books=2)).tolist() == [0, 2]  # those with most text
    with pytest.raises(AtdError, match=r"task\.words=9: fewer than two attributes"):
        measurable(data, SimpleNamespace(words=9, books=9))
    kept = of_books(texts, np.array([0, 2]))
    assert kept.attributes.tolist() == [1, 0] and kept.lengths.tolist() == [8, 9]


def test_evenly():
    attribute = np.array([0] * 100 + [1] * 3)
    chosen = evenly(attribute, 5)
    assert np.bincount(attribute[chosen]).tolist() == [5, 3] and chosen[0] == 0 and chosen[4] == 99


def test_confusion_rows_are_per_cents():
    table = confusion(np.array([0, 0, 1]), np.array([0, 1, 1]), 2)
    assert table.tolist() == [[50, 50], [0, 100]]
