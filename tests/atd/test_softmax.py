"""The chunked and sampled losses against the plain softmax."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from atd.softmax import CHUNK, Noise, exact_nll, sampled_nll


def layer(B, H, V):
    torch.manual_seed(0)
    h, W, b = torch.randn(B, H), torch.randn(V, H), torch.randn(V)
    return [t.double().requires_grad_() for t in (h, W, b)], torch.randint(V, (B,))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_chunked_loss_and_gradients_equal_the_naive(reduction):
    (h, W, b), target = layer(2 * CHUNK + 37, 8, 50)
    chunked = exact_nll(h, W, b, target, reduction)
    naive = functional.cross_entropy(functional.linear(h, W, b), target, reduction=reduction)
    torch.testing.assert_close(chunked, naive)
    weight = torch.rand_like(chunked)
    ours = torch.autograd.grad((chunked * weight).sum(), (h, W, b))
    theirs = torch.autograd.grad((naive * weight).sum(), (h, W, b))
    torch.testing.assert_close(ours, theirs)


def test_sampled_loss_tends_to_the_exact_one():
    (h, W, b), target = layer(64, 8, 200)
    h, W, b = 0.3 * h.detach(), W.detach(), b.detach()
    noise = Noise(torch.arange(1, 201))
    exact = exact_nll(h, W, b, target)
    generator = torch.Generator().manual_seed(1)
    sampled = torch.stack([sampled_nll(h, W, b, target, noise, 4000, generator) for _ in range(20)]).mean()
    assert abs(float(sampled - exact)) < 0.02
    few = sampled_nll(h, W, b, target, noise, 10, generator)
    assert abs(float(few - exact)) > 0.02  # the tolerance above does tell good from bad


def test_noise_follows_the_counts():
    counts = torch.tensor([1, 10, 100])
    drawn = Noise(counts, power=0.75).draw(200_000, torch.Generator().manual_seed(0)).bincount(minlength=3)
    expected = counts.double() ** 0.75
    torch.testing.assert_close(drawn / drawn.sum(), (expected / expected.sum()).float(), atol=0.01, rtol=0)


def test_the_target_among_the_noise_is_not_counted_twice():
    (h, W, b), _ = layer(4, 3, 2)
    target = torch.zeros(4, dtype=torch.long)
    loss = sampled_nll(h, W, b, target, Noise([1_000_000, 1], power=3.0), 50, torch.Generator().manual_seed(0))
    assert float(loss) == pytest.approx(0.0, abs=1e-9)  # all noise equals the target: nothing to compete with
