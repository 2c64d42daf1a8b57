"""Products by the kernel in C are those of PyTorch."""

from __future__ import annotations

import itertools

import pytest
import torch

from atd import products
from atd.native import kernel

needs_compiler = pytest.mark.skipif(kernel("product") is None, reason="no compiler")


@needs_compiler
@pytest.mark.parametrize(("M", "K", "N"), [(37, 300, 107), (8, 1, 48), (300, 129, 16), (1, 5, 3), (264, 40, 0)])
@pytest.mark.parametrize(("turned", "add"), list(itertools.product([False, True], repeat=2)))
def test_the_kernel_multiplies(M, K, N, turned, add):
    torch.manual_seed(0)
    a, b, c = torch.randn(3, K, M).mT if turned else torch.randn(3, M, K), torch.randn(3, K, N), torch.randn(3, M, N)
    expected = a @ b + c if add else a @ b
    torch.testing.assert_close(products.product_in_c(a, b, c.clone(), add), expected, rtol=1e-4, atol=1e-4)
    one = products.product_in_c(a[:1], b[:1], c[:1].clone(), add)  # shared between threads another way
    torch.testing.assert_close(one, expected[:1], rtol=1e-4, atol=1e-4)


@needs_compiler
def test_the_kernel_multiplies_parts_of_larger_tables():
    torch.manual_seed(0)
    a, b, c = torch.randn(2, 50, 70), torch.randn(2, 30, 60), torch.zeros(2, 50, 64)
    products.product_in_c(a[..., 3:33], b[..., :33], c[..., :33], add=False)
    torch.testing.assert_close(c[..., :33], a[..., 3:33] @ b[..., :33])
    assert not c[..., 33:].any()


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_a_product_is_the_same_whoever_makes_it(own, turned, monkeypatch):
    monkeypatch.setattr(products, "own_is_faster", lambda *_: own and kernel("product") is not None)
    torch.manual_seed(0)
    a, b = torch.randn(2, 9, 20).mT if turned else torch.randn(2, 20, 9), torch.randn(2, 9, 33)
    torch.testing.assert_close(products.product(a, b), a @ b)
    out = torch.ones(2, 20, 33)
    torch.testing.assert_close(products.product(a, b, out), a @ b)
    torch.testing.assert_close(products.product(a, b, out, add=True), 2 * (a @ b))


@needs_compiler
def test_gradients(monkeypatch):
    monkeypatch.setattr(products, "own_is_faster", lambda *_: True)
    torch.manual_seed(0)
    a, b = (torch.randn(*shape).requires_grad_() for shape in ((20, 9), (9, 33)))
    weight = torch.randn(20, 33)
    ours = torch.autograd.grad((products.multiply(a, b) * weight).sum(), (a, b))
    torch.testing.assert_close(ours, torch.autograd.grad(((a @ b) * weight).sum(), (a, b)))
