"""What style is measured with: the classifier of real text, and the table of every text under every vector."""

from __future__ import annotations

import numpy as np
import torch

from atd.lm import MultiplicativeLM
from atd.ragged import Ragged
from tasks.generation.reader import Reader, confusion, evenly, pieces
from tasks.generation.style import perplexity_matrix


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


def test_pieces_stay_within_documents_and_skip_unknown_words():
    texts = Ragged(np.array([5, 0, 6, 7, 8, 9, 10, 11, 12, 0, 13, 14]), np.array([0, 6, 12]))
    ids, label = pieces(texts, np.array([3, 4]), 2)
    assert ids.tolist() == [[5, 6], [7, 8], [10, 11], [12, 13]] and label.tolist() == [3, 3, 4, 4]


def test_evenly():
    attribute = np.array([0] * 100 + [1] * 3)
    chosen = evenly(attribute, 5)
    assert np.bincount(attribute[chosen]).tolist() == [5, 3] and chosen[0] == 0 and chosen[4] == 99


def test_reader_learns_who_uses_which_words():
    rng = np.random.default_rng(0)
    label = np.arange(3).repeat(60)
    ids = np.stack([rng.choice(np.r_[0:10, 10 + 5 * a : 15 + 5 * a], 20) for a in label])
    reader = Reader(30).fit(ids[::2], label[::2])
    assert (reader.predict(ids[1::2]) == label[1::2]).mean() > 0.95
    np.testing.assert_allclose(np.exp(reader.log_prob(ids[:4])).sum(1), 1, rtol=1e-5)


def test_confusion_rows_are_per_cents():
    table = confusion(np.array([0, 0, 1]), np.array([0, 1, 1]), 2)
    assert table.tolist() == [[50, 50], [0, 100]]
