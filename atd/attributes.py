"""The attribute lookup table: one vector per attribute, `x = act(L[a])` (section 2.5 of the paper).

B batch, A attributes, D attribute dim, M attributes per text (1, or several that add up), W processes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional

ACTIVATIONS = {"relu": torch.relu, "identity": lambda x: x}


class Blend(NamedTuple):
    """Attributes that have shares in a text: ids (B×M, integers) and their shares (B×M)."""

    ids: Tensor
    shares: Tensor

    def to(self, *place: Any, **options: Any) -> Blend:
        return Blend(self.ids.to(*place, **options), self.shares.to(*place, **options))


class AttributeTable(nn.Module):
    """`L` (A×D) and the optional non-linearity that keeps x sparse and positive.

    Several attributes of one text (ids of shape B×M) add up before the non-linearity, so that an unseen
    combination of seen attributes has a vector too.
    """

    def __init__(self, A: int, D: int, activation: str = "relu", sparse: bool = False):
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation is one of {', '.join(ACTIVATIONS)}, not {activation!r}")
        self.activation = activation
        self.sparse = sparse  # row-sparse gradients: a step costs the rows it touches, not A
        self.most: int | None = None
        self.L = nn.Parameter(torch.empty(A, D))
        self.reset()

    def reset(self) -> None:
        """Random, positive and close together: N(0.3, 0.03²).

        An entry that starts below zero gets no gradient through the rectifier and keeps its random place. On the
        sample books N(0, 1) found the twin of 2 and 6 of 8 books (two seeds), this start 8, at equal perplexity.
        A rare attribute stays near the common start, which is the best guess for it.
        """
        nn.init.normal_(self.L, mean=0.3, std=0.03)

    @torch.no_grad()
    def start_at(self, x_AD: Tensor) -> None:
        """Start from given vectors, such as the average of each text's words (`average_words`)."""
        if x_AD.shape != self.L.shape:
            raise ValueError(f"the table is {tuple(self.L.shape)}, the start {tuple(x_AD.shape)}")
        self.L.copy_(x_AD)

    def act(self, x: Tensor) -> Tensor:
        return ACTIVATIONS[self.activation](x)

    def forward(self, attribute: Tensor | Blend) -> Tensor:
        """Ids (B or B×M, integers), ids with shares, or ready vectors (B×D, floats) to x_BD."""
        if isinstance(attribute, Blend):
            return self.act((self.rows(attribute.ids) * attribute.shares[..., None]).sum(1))
        if attribute.is_floating_point():
            return attribute
        rows = self.rows(attribute)
        return self.act(rows.sum(1) if attribute.dim() == 2 else rows)

    def rows(self, ids: Tensor) -> Tensor:
        """L[ids] (…×D)."""
        if self.most is None:
            return functional.embedding(ids, self.L, sparse=self.sparse)
        return SharedRows.apply(self.L, ids, self.most, self.sparse)

    def share_rows(self, most: int | None) -> None:
        """Among W processes exchange the gradient as the rows that were used, for at most `most` texts of each.

        An all-reduce would move A·D numbers per step, this moves W·most·M·(D + 2) whatever A is. None = be alone.
        """
        self.most = most

    def vectors(self) -> Tensor:
        """Every attribute's x (A×D)."""
        return self.act(self.L)

    def blended(self, shares_PA: Tensor) -> Tensor:
        """The x of profiles in which every attribute has a share (P×D)."""
        return self.act(shares_PA.to(self.L) @ self.L)


class CentredTable(AttributeTable):
    """x = L[a] − the mean of L over the training text: x = 0 is the average text, and what all texts share is not in x.

    Of composed attributes every column is centred by itself. So the vector of one value says how it differs from the
    other values of its column, and leaves the other columns at their average. The mean counts as a constant in the
    gradient: processes that exchange rows of the gradient then need to exchange nothing else.
    """

    count: Tensor  # words of training text that each attribute has (A)
    weight: Tensor  # of each attribute in the mean: its count, or 0 if it joined a frozen model (A)
    column: Tensor  # that each attribute is a value of (A)
    words: Tensor  # of the text that is learned from now
    centred = True

    def __init__(self, A: int, D: int):
        super().__init__(A, D, activation="identity")
        self.register_buffer("count", torch.zeros(A))
        self.register_buffer("weight", torch.zeros(A))
        self.register_buffer("column", torch.zeros(A, dtype=torch.long))
        self.register_buffer("words", torch.zeros(()))

    def reset(self) -> None:
        """N(0, 0.1²): a text starts near the average one."""
        nn.init.normal_(self.L, std=0.1)

    @torch.no_grad()
    def centre(self, count_A: Tensor, column_A: Tensor, weight_A: Tensor | None = None) -> None:
        """Say how many words of training text each attribute has, and which column it is a value of."""
        self.count.copy_(count_A)
        self.weight.copy_(count_A if weight_A is None else weight_A)
        self.column.copy_(column_A)
        self.words.copy_(count_A[column_A == 0].sum())

    @torch.no_grad()
    def means(self) -> Tensor:
        """The mean of L over the training text, one row per column (M×D)."""
        M = int(self.column.max()) + 1
        sums_MD = self.L.new_zeros(M, self.L.shape[1]).index_add_(0, self.column, self.weight[:, None] * self.L)
        words_M = self.weight.new_zeros(M).index_add_(0, self.column, self.weight)
        return sums_MD / words_M.clamp(min=1)[:, None]

    def forward(self, attribute: Tensor | Blend) -> Tensor:
        x = super().forward(attribute)
        ready = isinstance(attribute, Tensor) and attribute.is_floating_point()
        return x if ready else x - self.means().sum(0)

    def vectors(self) -> Tensor:
        return self.L - self.means()[self.column]

    def blended(self, shares_PA: Tensor) -> Tensor:
        return shares_PA.to(self.L) @ self.vectors()


class SharedRows(torch.autograd.Function):
    """`functional.embedding` whose gradient is the mean over processes: each gathers the (id, row) pairs of all.

    Parts are filled up to equal length with zero rows for an id in use, since NCCL and Gloo gather equal parts only.
    """

    @staticmethod
    def forward(ctx: Any, L_AD: Tensor, ids: Tensor, most: int, sparse: bool) -> Tensor:
        ctx.save_for_backward(ids)
        ctx.shape, ctx.n, ctx.sparse = L_AD.shape, most * (ids[0].numel()), sparse
        return functional.embedding(ids, L_AD)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        (ids,) = ctx.saved_tensors
        W, n, D = dist.get_world_size(), ctx.n, ctx.shape[1]
        part_n, part_nD = ids.flatten(), gradients[0].reshape(-1, D) / W
        missing = n - len(part_n)
        part_n = torch.cat([part_n, part_n[:1].expand(missing)])
        part_nD = torch.cat([part_nD, part_nD.new_zeros(missing, D)])
        ids_Wn, rows_WnD = part_n.new_empty(W * n), part_nD.new_empty(W * n, D)
        dist.all_gather_single(ids_Wn, part_n)
        dist.all_gather_single(rows_WnD, part_nD)
        if ctx.sparse:
            return torch.sparse_coo_tensor(ids_Wn[None], rows_WnD, ctx.shape), None, None, None
        return rows_WnD.new_zeros(ctx.shape).index_add_(0, ids_Wn, rows_WnD), None, None, None


def average_words(vectors_VK: Tensor, tokens: Tensor, offsets: Tensor) -> Tensor:
    """The mean word vector of each text (A×K). `offsets` (A+1) bounds the texts in the flat `tokens`."""
    starts, end = offsets[:-1].long(), int(offsets[-1])
    return functional.embedding_bag(tokens[:end].long(), vectors_VK, starts, mode="mean")


def correlations(x_AD: np.ndarray) -> np.ndarray:
    """Correlations between attribute vectors; a vector that is all zero correlates with nothing."""
    centred = x_AD - x_AD.mean(1, keepdims=True)
    unit_rows = centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-12)
    return unit_rows @ unit_rows.T
