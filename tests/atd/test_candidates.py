"""The table of candidates: its products are the shifted logits and their sums, in any precision."""

from __future__ import annotations

import pytest
import torch

from atd.candidates import LOG2, Candidates, Columns, locate

G, R, S, H = 2, 5, 30, 9


@pytest.mark.parametrize("H", [1, 3, 4, 5, 100])
def test_columns_are_apart_and_fill_whole_lanes(H):
    columns = Columns(H)
    places = [i for part in (columns.vector, columns.bias, columns.shift, columns.padding) for i in range(1000)[part]]
    assert places == list(range(columns.P)) and columns.P % 16 == 0 and columns.P - H - 4 < 16
    assert columns.total in range(1000)[columns.shift]


@pytest.mark.parametrize(("dtype", "error"), [(torch.float64, 1e-12), (torch.float32, 1e-4), (torch.bfloat16, 2e-2)])
def test_a_product_gives_the_shifted_logits_and_another_their_sums(dtype, error):
    """In bf16 biases and goals of hundreds would be off by one if they had no columns for what rounding loses."""
    torch.manual_seed(0)
    h, W = (0.1 * torch.randn(shape, dtype=torch.float64) for shape in ((G, R, H), (G, S, H)))
    b, goal = (300 + torch.randn(shape, dtype=torch.float64) for shape in ((G, S), (G, R)))
    words = Candidates.of(W, b, dtype)
    rows = words.positions(goal)
    rows[..., words.columns.vector] = h
    assert rows.dtype == words.table_GSP.dtype == dtype
    rows, table = rows.double(), words.table_GSP.double()
    logits = h @ W.mT + b[:, None] - goal[..., None]
    torch.testing.assert_close(rows @ table.mT * LOG2, logits, rtol=0, atol=error)
    powers = torch.rand(G, R, S, dtype=torch.float64)
    sums = powers @ table
    torch.testing.assert_close(sums[..., words.columns.total], powers.sum(2))
    torch.testing.assert_close(sums[..., words.columns.vector] * LOG2, powers @ W, rtol=0, atol=error)
    rise = torch.full((G, R), 7.0, dtype=torch.float64)
    words.lower(rows, goal, rise)
    torch.testing.assert_close(rows @ table.mT, logits / LOG2 - 7, rtol=0, atol=2 * error)


def test_groups_of_chosen_words_have_biases_of_their_own():
    torch.manual_seed(0)
    W, b = torch.randn(S, H), torch.randn(S)
    all_words = Candidates.of(W, b)
    assert all_words.shared and all_words.part(slice(1, 2)) is all_words
    ids, own = torch.tensor([[3, 8, 9], [29, 0, 4]]), torch.randn(2, 3)
    chosen = all_words.choose(ids, own)
    torch.testing.assert_close(chosen.table_GSP, Candidates.of(W[ids], own).table_GSP)
    assert torch.equal(all_words.table_GSP, Candidates.of(W, b).table_GSP)  # a copy
    assert torch.equal(chosen.part(slice(1, 2)).table_GSP, chosen.table_GSP[1:])
    assert torch.equal(chosen.select(torch.tensor([1, 0])).table_GSP, chosen.table_GSP.flip(0))


def test_targets_are_located_in_their_own_group():
    ids, targets = torch.tensor([[7, 2, 5], [9, 1, 7]]), torch.tensor([[5, 7, 9, 0], [1, 9, 2, 10]])
    assert locate(ids, targets).tolist() == [[2, 0, -1, -1], [1, 0, -1, -1]]
