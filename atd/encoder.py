"""Amortised inference: networks that read x off the words in one pass, in place of a solver.

`TreeEncoder` composes the x of a phrase from the x of its two parts by the model's own factored tensor;
`ContextEncoder` pools the context products of the language model, which are a convolution of width N.

n nodes or texts, D attribute dim, F factors, K word dim, N context size, M feature maps, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional


class TreeEncoder(nn.Module):
    """x of every node of binary trees, from the leaves up.

    The left part's x gates the right part through a factored tensor, p = U((W_l x_l) ∘ (W_r x_r)): eq. 3 with an
    attribute that is itself a phrase. p and a linear map of both parts drive the gates of a tree LSTM (Tai et al.
    2015), whose memory carries sentiment over many levels. `F=0` leaves the tensor out (ablation).
    """

    def __init__(self, vectors_VK: Tensor, D: int, F: int, dropout: float = 0.4, word_dropout: float = 0.4):
        super().__init__()
        K = vectors_VK.shape[1]
        self.D, self.dropout, self.word_dropout = D, dropout, word_dropout
        self.E = nn.Parameter(vectors_VK.clone())
        self.leaf = nn.Linear(K, 3 * D)
        self.pair = nn.Linear(2 * D, 5 * D)
        self.W_l = nn.Parameter(torch.empty(F, D))
        self.W_r = nn.Parameter(torch.empty(F, D))
        self.U = nn.Parameter(torch.empty(5 * D, F))
        for W, fan in ((self.W_l, D), (self.W_r, D), (self.U, max(F, 1))):
            nn.init.uniform_(W, -(fan**-0.5), fan**-0.5)
        with torch.no_grad():
            self.pair.bias[D : 3 * D] = 1.0  # forget gates start open

    def forward(self, word: Tensor, left: Tensor, right: Tensor, levels: Sequence[int]) -> Tensor:
        """x_nD of all nodes: the leaves (`word`), then level after level of inner nodes (`left`, `right`)."""
        e = functional.dropout(functional.embedding(word, self.E), self.word_dropout, self.training)
        i, o, u = self.leaf(e).chunk(3, 1)
        c = torch.sigmoid(i) * torch.tanh(u)
        x = torch.sigmoid(o) * torch.tanh(c)
        keep = functional.dropout(x.new_ones(len(left), self.D), self.dropout / 2, self.training)
        weights = self.pair.weight, self.pair.bias, self.W_l, self.W_r, self.U
        return Composition.apply(x, c, left, right, list(levels), keep, *weights)


class Composition(torch.autograd.Function):
    """The tree LSTM's recursion with its gradient by hand: 2–3 times faster than recording every level.

    Autograd would copy the buffer of all nodes at each level, and form the weights' gradient from many small
    products; here children's gradients are added in place and each weight takes one product over all nodes.
    m leaves, k inner nodes. Gates are ordered input, forget left, forget right, output, update.
    """

    @staticmethod
    def forward(ctx, x_mD, c_mD, left, right, levels, keep_kD, W, b, W_l, W_r, U):
        (m, D), k = x_mD.shape, len(left)
        x, c = x_mD.new_empty(m + k, D), x_mD.new_empty(m + k, D)
        x[:m], c[:m] = x_mD, c_mD
        parts, gates = x.new_empty(k, 2 * D), x.new_empty(k, 5 * D)
        a, r, t = x.new_empty(k, len(W_l)), x.new_empty(k, len(W_l)), x.new_empty(k, D)
        at = 0
        for size in levels[1:]:
            s = slice(at, at + size)
            x_l, x_r = x.index_select(0, left[s]), x.index_select(0, right[s])
            parts[s, :D], parts[s, D:] = x_l, x_r
            a[s], r[s] = x_l @ W_l.T, x_r @ W_r.T
            z = torch.addmm(b, parts[s], W.T).addmm_(a[s] * r[s], U.T)
            z[:, : 4 * D].sigmoid_()
            z[:, 4 * D :].tanh_()
            gates[s] = z
            i, f_l, f_r, o, u = z.chunk(5, 1)
            memory = (i * u).mul_(keep_kD[s])
            memory.addcmul_(f_l, c.index_select(0, left[s])).addcmul_(f_r, c.index_select(0, right[s]))
            t[s] = memory.tanh()
            c[m + at : m + at + size] = memory
            x[m + at : m + at + size] = o * t[s]
            at += size
        ctx.levels = levels
        ctx.save_for_backward(c, left, right, keep_kD, parts, gates, a, r, t, W, W_l, W_r, U)
        return x

    @staticmethod
    def backward(ctx, grad):
        c, left, right, keep_kD, parts, gates, a, r, t, W, W_l, W_r, U = ctx.saved_tensors
        D, k = c.shape[1], len(left)
        m = len(c) - k
        g_x, g_c = grad.clone(), torch.zeros_like(c)
        g_z, g_a, g_r = torch.empty_like(gates), torch.empty_like(a), torch.empty_like(r)
        end = k
        for size in reversed(ctx.levels[1:]):
            s = slice(end - size, end)
            node = slice(m + end - size, m + end)
            i, f_l, f_r, o, u = gates[s].chunk(5, 1)
            g_m = g_c[node] + g_x[node] * o * (1 - t[s].square())
            g_u = g_m * keep_kD[s]
            slope = gates[s] * (1 - gates[s])
            slope[:, 4 * D :] = 1 - u.square()
            c_l, c_r = c.index_select(0, left[s]), c.index_select(0, right[s])
            g_z[s] = torch.cat([g_u * u, g_m * c_l, g_m * c_r, g_x[node] * t[s], g_u * i], 1).mul_(slope)
            g_p = g_z[s] @ U
            g_a[s], g_r[s] = g_p * r[s], g_p * a[s]
            g_parts = g_z[s] @ W
            g_x.index_add_(0, left[s], g_parts[:, :D].addmm(g_a[s], W_l))
            g_x.index_add_(0, right[s], g_parts[:, D:].addmm(g_r[s], W_r))
            g_c.index_add_(0, left[s], g_m * f_l)
            g_c.index_add_(0, right[s], g_m * f_r)
            end -= size
        weights = g_z.T @ parts, g_z.sum(0), g_a.T @ parts[:, :D], g_r.T @ parts[:, D:], g_z.T @ (a * r)
        return g_x[:m], g_c[:m], None, None, None, None, *weights


class ContextEncoder(nn.Module):
    """x of flat texts by pooling convolutions of the words, of widths 1 to N.

    With one width N and M = K maps this is the model's context product Σ C⁽ⁱ⁾ E[w_i] at every position; the narrower
    widths are its last few terms. The maximum over the positions is what the text says most strongly.
    """

    def __init__(
        self, vectors_VK: Tensor, D: int, N: int = 4, M: int = 100, dropout: float = 0.5, word_dropout: float = 0.2
    ):
        super().__init__()
        K = vectors_VK.shape[1]
        self.dropout, self.word_dropout = dropout, word_dropout
        self.E = nn.Parameter(vectors_VK.clone())
        self.C = nn.ModuleList(nn.Conv1d(K, M, width) for width in range(1, N + 1))
        self.project = nn.Linear(N * M, D)

    def forward(self, word_nT: Tensor) -> Tensor:
        """Texts padded to one length with −1 → x_nD."""
        pad_nT = word_nT < 0
        e = functional.embedding(word_nT.clamp(min=0), self.E).masked_fill(pad_nT[..., None], 0.0)
        e = functional.dropout(e, self.word_dropout, self.training).transpose(1, 2)
        pooled = []
        for width, convolution in enumerate(self.C, 1):
            maps = torch.relu(convolution(functional.pad(e, (width - 1, 0))))
            pooled.append(maps.masked_fill(pad_nT[:, None], 0.0).amax(2))
        return torch.tanh(self.project(functional.dropout(torch.cat(pooled, 1), self.dropout, self.training)))
