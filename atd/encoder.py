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
        self.W_l = nn.Linear(D, F, bias=False) if F else None
        self.W_r = nn.Linear(D, F, bias=False) if F else None
        self.U = nn.Linear(F, 5 * D, bias=False) if F else None
        with torch.no_grad():
            self.pair.bias[D : 3 * D] = 1.0  # forget gates start open

    def forward(self, word: Tensor, left: Tensor, right: Tensor, levels: Sequence[int]) -> Tensor:
        """x_nD of all nodes: the leaves (`word`), then level after level of inner nodes (`left`, `right`)."""
        n, leaves = sum(levels), levels[0]
        state_n2D = self.E.new_zeros(n, 2 * self.D)  # x and memory side by side
        state_n2D[:leaves] = self._leaves(word)
        at = leaves
        for size in levels[1:]:
            inner = slice(at - leaves, at - leaves + size)
            parts = state_n2D.index_select(0, left[inner]), state_n2D.index_select(0, right[inner])
            state_n2D[at : at + size] = self._compose(*parts)
            at += size
        return state_n2D[:, : self.D]

    def _leaves(self, word: Tensor) -> Tensor:
        e = functional.dropout(functional.embedding(word, self.E), self.word_dropout, self.training)
        i, o, u = self.leaf(e).chunk(3, 1)
        c = torch.sigmoid(i) * torch.tanh(u)
        return torch.cat([torch.sigmoid(o) * torch.tanh(c), c], 1)

    def _compose(self, left: Tensor, right: Tensor) -> Tensor:
        (x_l, c_l), (x_r, c_r) = left.chunk(2, 1), right.chunk(2, 1)
        z = self.pair(torch.cat([x_l, x_r], 1))
        if self.U is not None:
            z = z + self.U(self.W_l(x_l) * self.W_r(x_r))
        i, f_l, f_r, o, u = z.chunk(5, 1)
        u = functional.dropout(torch.tanh(u), self.dropout / 2, self.training)
        c = torch.sigmoid(i) * u + torch.sigmoid(f_l) * c_l + torch.sigmoid(f_r) * c_r
        return torch.cat([torch.sigmoid(o) * torch.tanh(c), c], 1)


class ContextEncoder(nn.Module):
    """x of flat texts by pooling convolutions of the words, of widths 1 to N.

    With one width N and M = K maps this is the model's context product Σ C⁽ⁱ⁾ E[w_i] at every position; the narrower
    widths are its last few terms. The maximum over the positions is what the text says most strongly.
    """

    def __init__(self, vectors_VK: Tensor, D: int, N: int = 4, M: int = 100, dropout: float = 0.5):
        super().__init__()
        K = vectors_VK.shape[1]
        self.N, self.dropout = N, dropout
        self.E = nn.Parameter(vectors_VK.clone())
        self.C = nn.ModuleList(nn.Conv1d(K, M, width) for width in range(1, N + 1))
        self.project = nn.Linear(N * M, D)

    def forward(self, word_nT: Tensor) -> Tensor:
        """Texts padded to one length with −1 → x_nD. At least N columns are needed."""
        pad_nT = word_nT < 0
        e = functional.embedding(word_nT.clamp(min=0), self.E).masked_fill(pad_nT[..., None], 0.0)
        e = functional.dropout(e, 0.3 * self.dropout, self.training).transpose(1, 2)
        pooled = []
        for width, convolution in enumerate(self.C, 1):
            maps = torch.relu(convolution(functional.pad(e, (width - 1, 0))))
            pooled.append(maps.masked_fill(pad_nT[:, None], 0.0).amax(2))
        return torch.tanh(self.project(functional.dropout(torch.cat(pooled, 1), self.dropout, self.training)))
