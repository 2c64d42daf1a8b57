"""The passes in C beside their twins in Python: the same words, whatever the sizes."""

from __future__ import annotations

import math

import pytest
import torch

from atd import neighbours
from atd.generate import BLOCK, draw, invert
from atd.native import kernel
from atd.neighbours import Space, nearest, unit
from atd.vocabulary_kernel import SoftmaxTable, blocks

passes = kernel("vocabulary")
pytestmark = pytest.mark.skipif(passes is None, reason="no C compiler")
V, K = 1003, 37


def seed(n=0):
    return torch.Generator().manual_seed(n)


def awkward_words() -> torch.Tensor:
    """Equal words, opposite ones, nothing at all, and words of one large and many small numbers."""
    vectors = torch.randn(V, K, generator=seed())
    vectors[500:520] = vectors[7]
    vectors[40] = -vectors[7]
    vectors[[0, 300]] = 0
    vectors[600:700, 3] = 1000
    return vectors


def exact(unit_VK, query_QK, k):
    """A full product in double precision, row by row so that equal words are equal; of equal ones the lower id."""
    cosine_QV = (unit_VK.double() * query_QK.double()[:, None]).sum(2)
    order = cosine_QV.argsort(dim=1, descending=True, stable=True)[:, :k]
    return order, cosine_QV.gather(1, order)


def test_blocks_hold_every_number_of_every_word():
    words = torch.arange(10.0).reshape(5, 2)
    expected = [[[0, 2, 4], [1, 3, 5]], [[6, 8, 0], [7, 9, 0]]]
    assert blocks(words, 3).tolist() == expected


@pytest.mark.parametrize("queries", [1, 5, 6, 23])
@pytest.mark.parametrize("k", [1, 15, V])
def test_nearest_words_are_those_of_the_full_product(queries, k):
    space = Space(awkward_words())
    query_QK = unit(torch.randn(queries, K, generator=seed(1)))
    query_QK[0] = space.unit_VK[7]
    ids, products = space.coded.nearest(query_QK, k)
    expected, cosines = exact(space.unit_VK, query_QK, k)
    assert torch.equal(ids, expected)
    torch.testing.assert_close(products, cosines, rtol=0, atol=1e-14)
    for row, query_K in enumerate(query_QK):
        assert torch.equal(nearest(space.unit_VK, query_K, k)[0], expected[row])


def test_what_a_code_leaves_out_is_within_its_error():
    space = Space(awkward_words())
    L = passes.width()
    codes = space.coded.codes.view(-1, K, L).transpose(1, 2).reshape(-1, K)[:V]
    missed = (space.unit_VK - codes * space.coded.scale[:V, None]).double().norm(dim=1)
    assert (missed < space.coded.error[:V]).all() and space.coded.error.max() < 0.03


def test_several_threads_give_the_same_words(monkeypatch):
    vectors, ids = awkward_words(), torch.arange(200)
    alone = Space(vectors).of_words(ids)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    assert all(torch.equal(a, b) for a, b in zip(alone, Space(vectors).of_words(ids), strict=True))


def test_a_space_without_a_compiler_gives_the_same(monkeypatch):
    vectors, ids = awkward_words(), torch.arange(30)
    compiled = Space(vectors)
    monkeypatch.setattr(neighbours, "library", lambda words: None)
    plain = Space(vectors)
    assert plain.coded is None
    for one, other in zip(compiled.of_words(ids), plain.of_words(ids), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-7)


def layer(B=50, H=37, spread=1.0):
    W_VH, b_V = spread * torch.randn(V, H, generator=seed()), torch.randn(V, generator=seed(1))
    return W_VH, b_V, torch.randn(B, H, generator=seed(2))


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("spread", [0.01, 1.0, 100.0])
def test_words_drawn_are_those_of_the_running_sum(temperature, spread):
    """Also where logits reach thousands, and exponentials of a whole block vanish."""
    W_VH, b_V, h_BH = layer(spread=spread)
    u_B = torch.rand(len(h_BH), dtype=torch.float64, generator=seed(3))
    words = SoftmaxTable(passes, W_VH, b_V, temperature).draw(h_BH, u_B)
    logits = (h_BH.double() @ W_VH.double().T + b_V) / temperature
    expected, _ = invert(logits.softmax(1), u_B)
    assert torch.equal(words, expected)


def test_draw_is_the_twin():
    W_VH, b_V, h_BH = layer(B=300)
    b_V[5:400] = -torch.inf
    pad = -V % BLOCK
    logits = torch.nn.functional.pad(torch.addmm(b_V, h_BH, W_VH.T), (0, pad), value=-torch.inf)
    u_B = torch.rand(300, dtype=torch.float64, generator=seed(4))
    assert torch.equal(SoftmaxTable(passes, W_VH, b_V, 1).draw(h_BH, u_B), draw(logits, seed(4)))


def test_edges_of_the_unit_interval_never_reach_a_forbidden_word():
    W_VH, b_V, h_BH = layer(B=3, spread=0.0)
    b_V[:] = -torch.inf
    b_V[[3, 900]] = 0.7
    u_B = torch.tensor([0.0, 0.5 - 2**-53, 1 - 2**-53], dtype=torch.float64)
    assert SoftmaxTable(passes, W_VH, b_V, 1).draw(h_BH, u_B).tolist() == [3, 3, 900]


def test_words_are_as_frequent_as_the_softmax_says():
    W_VH, b_V, h_BH = layer(B=1, spread=0.2)
    n = 100_000
    words = SoftmaxTable(passes, W_VH, b_V, 0.7).draw(
        h_BH.expand(n, -1), torch.rand(n, dtype=torch.float64, generator=seed())
    )
    expected = n * ((h_BH @ W_VH.T + b_V)[0].double() / 0.7).softmax(0)
    chi = ((torch.bincount(words, minlength=V) - expected).square() / expected).sum()
    assert abs(chi - V) < 5 * math.sqrt(2 * V)
