"""Sums over ragged bags of rows, fast both ways: the sentence vector of a bag-of-words model.

T tokens, B bags, U distinct rows, F columns. A table may have a million rows and a batch a few thousand distinct
ones. `Bags` numbers these once, without sorting, and keeps the bags by token and the tokens by bag; then the sum is
one `embedding_bag`, its gradient another, and the table's gradient is sparse with every row once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from atd.ragged import Ragged


@dataclass
class Bags:
    """`rows` (U) are the distinct rows used, rising. Bag b sums `index[offsets[b]:offsets[b+1]]` of them;
    row u goes to the bags `bag[starts[u]:starts[u+1]]`."""

    rows: Tensor
    index: Tensor
    offsets: Tensor
    bag: Tensor
    starts: Tensor

    @classmethod
    def of(cls, texts: Ragged, size: int) -> Bags:
        """A bag for each text; its tokens are row numbers below `size`."""
        from scipy import sparse

        used = np.zeros(size, dtype=bool)
        used[texts.tokens] = True
        rows = np.flatnonzero(used)
        place = np.empty(size, dtype=np.int32)
        place[rows] = np.arange(len(rows), dtype=np.int32)
        index = place[texts.tokens]
        ones = np.ones(len(index), np.bool_)
        by_bag = sparse.csr_array((ones, index, texts.offsets), shape=(len(texts), len(rows)))
        by_row = by_bag.tocsc()
        arrays = (rows, index, texts.offsets, by_row.indices, by_row.indptr)
        return cls(*(torch.from_numpy(a.astype(np.int64, copy=False)) for a in arrays))

    def to(self, device: torch.device | str) -> Bags:
        return Bags(*(t.to(device) for t in (self.rows, self.index, self.offsets, self.bag, self.starts)))

    def __len__(self) -> int:
        return len(self.offsets) - 1


def take(table: Tensor, rows_U: Tensor) -> Tensor:
    """`table[rows]` (U×F) for rows that rise strictly; the gradient is sparse, every row once."""
    return _Take.apply(table, rows_U)


def bag_sum(values_UF: Tensor, bags: Bags) -> Tensor:
    """The sum of each bag (B×F); `values` are the U rows of `bags.rows`."""
    return _BagSum.apply(values_UF, bags)


class _Take(torch.autograd.Function):
    @staticmethod
    def forward(ctx, table, rows_U):
        ctx.save_for_backward(rows_U)
        ctx.shape = table.shape
        return table.index_select(0, rows_U)  # five times as fast as table[rows]

    @staticmethod
    def backward(ctx, gradient):
        (rows_U,) = ctx.saved_tensors
        options = {"is_coalesced": True, "check_invariants": False}
        return torch.sparse_coo_tensor(rows_U[None], gradient, ctx.shape, **options), None


class _BagSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, values_UF, bags):
        ctx.bags = bags
        return functional.embedding_bag(bags.index, values_UF, bags.offsets, mode="sum", include_last_offset=True)

    @staticmethod
    def backward(ctx, gradient):
        bags = ctx.bags
        return functional.embedding_bag(
            bags.bag, gradient.contiguous(), bags.starts, mode="sum", include_last_offset=True
        ), None
