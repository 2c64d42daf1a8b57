"""Encoders: the hand-written gradient is autograd's, batching and padding change nothing."""

from __future__ import annotations

import torch
from torch.nn import functional

from atd.encoder import Composition, ContextEncoder, TreeEncoder

D, F = 4, 3
LEFT, RIGHT, LEVELS = torch.tensor([0, 2, 5, 7]), torch.tensor([1, 3, 6, 4]), [5, 2, 1, 1]
# five leaves; nodes 5 = (0 1), 6 = (2 3), 7 = (5 6), 8 = (7 4)


def naive(x, c, left, right, keep, W, b, W_l, W_r, U):
    """The recursion node by node, left to autograd."""
    x, c = list(x), list(c)
    for k, (i, j) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        z = W @ torch.cat([x[i], x[j]]) + b + U @ ((W_l @ x[i]) * (W_r @ x[j]))
        g_i, f_l, f_r, o, u = z.chunk(5)
        memory = g_i.sigmoid() * u.tanh() * keep[k] + f_l.sigmoid() * c[i] + f_r.sigmoid() * c[j]
        c.append(memory)
        x.append(o.sigmoid() * memory.tanh())
    return torch.stack(x)


def test_composition_and_its_gradient_are_those_of_the_plain_recursion():
    torch.manual_seed(0)
    shapes = [(5, D), (5, D), (5 * D, 2 * D), (5 * D,), (F, D), (F, D), (5 * D, F)]
    x, c, W, b, W_l, W_r, U = (torch.randn(s, dtype=torch.float64, requires_grad=True) for s in shapes)
    keep = functional.dropout(torch.ones(4, D, dtype=torch.float64), 0.3)
    quick = Composition.apply(x, c, LEFT, RIGHT, LEVELS, keep, W, b, W_l, W_r, U)
    slow = naive(x, c, LEFT, RIGHT, keep, W, b, W_l, W_r, U)
    torch.testing.assert_close(quick, slow)
    upstream = torch.randn_like(slow)
    inputs = (x, c, W, b, W_l, W_r, U)
    got = torch.autograd.grad(quick, inputs, upstream)
    expected = torch.autograd.grad(slow, inputs, upstream)
    for one, two in zip(got, expected, strict=True):
        torch.testing.assert_close(one, two)


def test_tree_encoder_without_the_tensor_and_without_inner_nodes():
    torch.manual_seed(0)
    vectors = torch.randn(10, 6)
    none = torch.zeros(0, dtype=torch.long)
    for factors in (0, F):
        encoder = TreeEncoder(vectors, D, factors).eval()
        alone = encoder(torch.tensor([3, 7]), none, none, [2])
        whole = encoder(torch.tensor([3, 7, 1, 2, 4]), LEFT, RIGHT, LEVELS)
        assert whole.shape == (9, D)
        torch.testing.assert_close(alone, whole[:2])
        whole.sum().backward()
        assert encoder.E.grad[3].abs().sum() > 0 and encoder.E.grad[9].abs().sum() == 0


def test_dropout_only_in_training():
    torch.manual_seed(0)
    encoder = TreeEncoder(torch.randn(10, 6), D, F, dropout=0.5, word_dropout=0.5)
    words = torch.tensor([3, 7, 1, 2, 4])
    noisy = [encoder.train()(words, LEFT, RIGHT, LEVELS) for _ in range(2)]
    clean = [encoder.eval()(words, LEFT, RIGHT, LEVELS) for _ in range(2)]
    assert not torch.equal(*noisy) and torch.equal(*clean)


def test_context_encoder_does_not_see_padding():
    torch.manual_seed(0)
    encoder = ContextEncoder(torch.randn(10, 6), D, N=3, M=5).eval()
    short = encoder(torch.tensor([[3, 7, 1]]))
    padded = encoder(torch.tensor([[3, 7, 1, -1, -1], [1, 2, 3, 4, 5]]))
    torch.testing.assert_close(padded[:1], short)
