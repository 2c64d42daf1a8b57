"""The surrogate: J's gradient where it was made, its own elsewhere, and words by how likely they are."""

from __future__ import annotations

import pytest
import torch

from atd.inference import surrogate
from tests.atd.inference.small import D, make_kind, make_problem, make_texts


@pytest.mark.parametrize("kind", ["paper", "open gate and shift", "shift"])
def test_the_surrogate_has_the_gradient_of_the_objective(kind, monkeypatch):
    monkeypatch.setattr("atd.inference.surrogate.WORDS", 7)
    monkeypatch.setattr("atd.inference.objective.PIECE", 4)
    model = make_kind(kind, torch.float64)
    x = torch.randn(6, D, dtype=torch.float64)
    with torch.no_grad():
        problem = make_problem(model, make_texts(6), torch.zeros(6, D).double())
        point, likely = surrogate.evaluate(problem, x)
        plain = problem.evaluate(x)
        torch.testing.assert_close((point.nll_n, point.J_n, point.g_nD), (plain.nll_n, plain.J_n, plain.g_nD))
        assert (likely.sum(1) > 0).all() and (likely.sum(1) < 4).all()
        near = surrogate.around(problem, point, likely)
        assert near.candidates.S == 7
        torch.testing.assert_close(near.evaluate(x).g_nD, point.g_nD)
        away = x + 0.1
        there = near.evaluate(away)
        step = 1e-6 * torch.randn_like(x)
        rise = near.evaluate(away + step).J_n - near.evaluate(away - step).J_n
        torch.testing.assert_close(rise / 2, (there.g_nD * step).sum(1), rtol=1e-5, atol=1e-12)
        rows = torch.tensor([4, 1])
        torch.testing.assert_close(near.select(rows).evaluate(away[rows]).J_n, there.J_n[rows])


def test_words_are_chosen_by_how_likely_they_are():
    likely = torch.rand(3, 500, generator=torch.Generator().manual_seed(0)) ** 8
    likely[:, 17] = 50
    ids, log_weight = surrogate.choose(likely.clone(), 100)
    used = log_weight > surrogate.NEVER
    for row, real in zip(ids, used, strict=True):
        assert 90 <= real.sum() == len(row[real].unique())
    assert (ids == 17).any(1).all() and log_weight[ids == 17].abs().max() < 1e-6
    sums = (likely.gather(1, ids) * log_weight.exp()).sum(1)
    torch.testing.assert_close(sums, likely.sum(1), rtol=0.05, atol=0)
