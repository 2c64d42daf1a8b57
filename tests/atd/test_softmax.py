"""The chunked and sampled losses against the plain softmax."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from atd import softmax
from atd.softmax import ROWS, Noise, exact_nll, sampled_nll


def layer(B, H, V):
    torch.manual_seed(0)
    h, W, b = torch.randn(B, H), torch.randn(V, H), torch.randn(V)
    return [t.double().requires_grad_() for t in (h, W, b)], torch.randint(V, (B,))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_chunked_loss_and_gradients_equal_the_naive(reduction, monkeypatch):
    monkeypatch.setattr(softmax, "LOGITS", 50 * ROWS)
    (h, W, b), target = layer(2 * ROWS + 37, 8, 50)
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
    assert loss.item() == pytest.approx(0.0, abs=1e-9)  # all noise equals the target: nothing to compete with


@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_sampled_loss_and_gradients_equal_the_formula(reduction):
    (h, W, b), target = layer(40, 8, 30)
    noise, samples = Noise(torch.arange(1, 31)), 25
    ids, _ = noise.candidates(samples, torch.Generator().manual_seed(2))
    drawn = noise.draw(samples, torch.Generator().manual_seed(2))
    assert ids.tolist() == drawn.unique().tolist() and torch.isin(target, ids).any() and len(ids) < samples
    correction = noise.log_q[drawn] + torch.tensor(samples).log()
    logits = (functional.linear(h, W[drawn], b[drawn]) - correction).masked_fill(drawn == target[:, None], -torch.inf)
    goal = functional.linear(h, W, b).gather(1, target[:, None])
    plain = torch.cat([goal, logits], 1).logsumexp(1) - goal[:, 0]
    plain = plain.mean() if reduction == "mean" else plain
    ours = sampled_nll(h, W, b, target, noise, samples, torch.Generator().manual_seed(2), reduction)
    torch.testing.assert_close(ours, plain, rtol=1e-6, atol=1e-6)  # the noise's log q is in single precision
    weight = torch.rand_like(ours)
    for a, c in zip(*(torch.autograd.grad((loss * weight).sum(), (h, W, b)) for loss in (ours, plain)), strict=True):
        torch.testing.assert_close(a, c, rtol=1e-5, atol=1e-6)


def test_a_word_far_likelier_than_the_target_does_not_overflow():
    (h, W, b), target = layer(200, 8, 300)
    h, W, b = (t.detach().float() for t in (h, W, b))
    W[200] = 300 * h[7]  # a word whose logit beats all others by thousands
    h, W, b = (t.requires_grad_() for t in (h, W, b))
    ours = exact_nll(h, W, b, target)
    naive = functional.cross_entropy(functional.linear(h, W, b), target)
    torch.testing.assert_close(ours, naive, rtol=1e-5, atol=0)
    for a, c in zip(*(torch.autograd.grad(loss, (h, W, b)) for loss in (ours, naive)), strict=True):
        torch.testing.assert_close(a, c, rtol=1e-4, atol=1e-4)
