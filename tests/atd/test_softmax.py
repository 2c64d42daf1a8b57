"""The chunked and sampled losses against the plain softmax."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from atd import noise as noise_words
from atd import softmax_kernel
from atd.noise import Noise, NoiseDraw
from atd.softmax import exact_nll, sampled_nll
from atd.softmax_kernel import ROWS


def layer(B, H, V):
    torch.manual_seed(0)
    h, W, b = torch.randn(B, H), torch.randn(V, H), torch.randn(V)
    return [t.double().requires_grad_() for t in (h, W, b)], torch.randint(V, (B,))


def drawn(V: int, samples: int, seed: int = 0, place: tuple[int, int] | None = None) -> NoiseDraw:
    """Noise words out of V, of which the later are the more frequent."""
    return Noise(torch.arange(1, V + 1)).draw(samples, torch.Generator().manual_seed(seed), place)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_chunked_loss_and_gradients_equal_the_naive(reduction, monkeypatch):
    monkeypatch.setattr(softmax_kernel, "LOGITS", 50 * ROWS)
    monkeypatch.setattr(softmax_kernel, "BLOCK", 16)  # of the losses alone
    (h, W, b), target = layer(2 * ROWS + 37, 8, 50)
    chunked = exact_nll(h, W, b, target, reduction)
    naive = functional.cross_entropy(functional.linear(h, W, b), target, reduction=reduction)
    torch.testing.assert_close(chunked, naive)
    weight = torch.rand_like(chunked)
    ours = torch.autograd.grad((chunked * weight).sum(), (h, W, b))
    theirs = torch.autograd.grad((naive * weight).sum(), (h, W, b))
    torch.testing.assert_close(ours, theirs)


def test_no_rows_have_no_gradient():
    (h, W, b), target = layer(0, 8, 50)
    exact_nll(h, W, b, target, "sum").backward()
    assert not W.grad.any() and not b.grad.any()


def test_sampled_loss_tends_to_the_exact_one():
    (h, W, b), target = layer(64, 8, 200)
    h, W, b = 0.3 * h.detach(), W.detach(), b.detach()
    exact = exact_nll(h, W, b, target)
    error = {}
    for samples in (10, 150, 200):
        losses = [sampled_nll(h, W, b, target, drawn(200, samples, seed)) for seed in range(20)]
        error[samples] = (torch.stack(losses) - exact).abs()
    assert error[200].max() < 1e-6 and error[150].mean() < 0.1
    assert error[10].mean() > 0.2  # the tolerances above do tell good from bad


def test_the_target_among_the_noise_is_not_counted_twice():
    (h, W, b), _ = layer(4, 3, 2)
    target = torch.zeros(4, dtype=torch.long)
    draw = Noise([1_000_000, 1], power=3.0).draw(1, torch.Generator().manual_seed(0))
    loss = sampled_nll(h, W, b, target, draw)
    assert loss.item() == pytest.approx(0.0, abs=1e-9)  # the noise word is the target: nothing competes


@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_sampled_loss_and_gradients_equal_the_formula(reduction, monkeypatch):
    """In two groups of the batch, each with noise words of its own, of which the second lacks a row."""
    monkeypatch.setattr(noise_words, "GROUP", 20)
    (h, W, b), target = layer(41, 8, 30)
    noise = drawn(30, 12, seed=2).candidates(41, b.device)
    assert noise.filling == (0, 1)
    goal, plain = functional.linear(h, W, b).gather(1, target[:, None]), []
    for ids, log_weight, at in zip(noise.ids_GS, noise.log_weight_GS, (slice(21), slice(21, 41)), strict=True):
        assert 0 < torch.isin(target[at], ids).sum() < len(target[at])
        logits = functional.linear(h[at], W[ids], b[ids]) + log_weight
        logits = logits.masked_fill(ids == target[at, None], -torch.inf)
        plain.append(torch.cat([goal[at], logits], 1).logsumexp(1) - goal[at, 0])
    expected = torch.cat(plain).mean() if reduction == "mean" else torch.cat(plain)
    ours = sampled_nll(h, W, b, target, drawn(30, 12, seed=2), reduction)
    torch.testing.assert_close(ours, expected, rtol=1e-6, atol=1e-6)  # the correction is in single precision
    weight = torch.rand_like(ours)
    for a, c in zip(*(torch.autograd.grad((loss * weight).sum(), (h, W, b)) for loss in (ours, expected)), strict=True):
        torch.testing.assert_close(a, c, rtol=1e-5, atol=1e-6)


def test_processes_draw_the_words_of_their_rows(monkeypatch):
    """Parts of a batch, wherever it is cut, have the losses that they have within it."""
    monkeypatch.setattr(noise_words, "GROUP", 10)
    (h, W, b), target = layer(43, 8, 300)
    whole = sampled_nll(h, W, b, target, drawn(300, 40), "none")
    parts = []
    for at in (slice(0, 15), slice(15, 31), slice(31, 43)):
        parts.append(sampled_nll(h[at], W, b, target[at], drawn(300, 40, place=(at.start, 43)), "none"))
    torch.testing.assert_close(torch.cat(parts), whole)


@pytest.mark.parametrize("samples", [0, 60])
def test_bf16_products_are_near_the_exact_ones(samples):
    (h, W, b), target = layer(300, 16, 200)
    h, W, b = (t.detach().float().requires_grad_() for t in (0.5 * h, W, 8 * b))  # biases that bf16 alone would spoil

    def loss() -> torch.Tensor:
        return sampled_nll(h, W, b, target, drawn(200, samples)) if samples else exact_nll(h, W, b, target)

    exact = loss()
    with torch.autocast("cpu", torch.bfloat16):
        rounded = loss()
    assert rounded != exact
    torch.testing.assert_close(rounded, exact, rtol=1e-3, atol=0)
    for a, c in zip(*(torch.autograd.grad(value, (h, W, b)) for value in (rounded, exact)), strict=True):
        assert (a - c).norm() < 0.01 * c.norm()


@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_a_word_far_likelier_than_the_target_does_not_overflow(reduction, monkeypatch):
    monkeypatch.setattr(softmax_kernel, "BLOCK", 128)
    (h, W, b), target = layer(200, 8, 300)
    h, W, b = (t.detach().float() for t in (h, W, b))
    W[200] = 300 * h[7]  # a word whose logit beats all others by thousands
    h, W, b = (t.requires_grad_() for t in (h, W, b))
    ours = exact_nll(h, W, b, target, reduction)
    naive = functional.cross_entropy(functional.linear(h, W, b), target, reduction=reduction)
    torch.testing.assert_close(ours, naive, rtol=1e-5, atol=1e-6)
    for a, c in zip(*(torch.autograd.grad(loss.mean(), (h, W, b)) for loss in (ours, naive)), strict=True):
        torch.testing.assert_close(a, c, rtol=1e-4, atol=1e-4)
