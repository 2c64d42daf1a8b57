"""Sums over ragged bags of rows, fast both ways: the sentence vector of a bag-of-words model.

A table may have a million rows, and a batch uses a few thousand of them. `Bags` numbers these once, without sorting,
and keeps the rows of each bag and the bags of each row. Then the sum is one `embedding_bag`, its gradient another, and
the gradient of the table is sparse with every row once.

B bags, U distinct rows, F columns.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from atd.ragged import Ragged


@dataclass
class Bags:
    """Which rows each bag sums, and which bags each row goes to.

    Bag b sums the rows number `index[offsets[b]:offsets[b + 1]]` of `rows`; row number u of `rows` goes to the bags
    `bag[starts[u]:starts[u + 1]]`.
    """

    rows: Tensor  # U, the distinct rows of the table that are used, rising
    index: Tensor
    offsets: Tensor  # B+1
    bag: Tensor
    starts: Tensor  # U+1

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
        return cls(
            rows=_tensor(rows),
            index=_tensor(index),
            offsets=_tensor(texts.offsets),
            bag=_tensor(by_row.indices),
            starts=_tensor(by_row.indptr),
        )

    def to(self, device: torch.device | str) -> Bags:
        return Bags(*(getattr(self, field.name).to(device) for field in fields(self)))

    def __len__(self) -> int:
        return len(self.offsets) - 1


def _tensor(values: np.ndarray) -> Tensor:
    return torch.from_numpy(values.astype(np.int64, copy=False))


def take(table: Tensor, rows_U: Tensor) -> Tensor:
    """`table[rows]` (U×F) for rows that rise strictly; the gradient is sparse, every row once."""
    return _Take.apply(table, rows_U)


def bag_sum(values_UF: Tensor, bags: Bags) -> Tensor:
    """The sum of each bag (B×F); `values` are the U rows of `bags.rows`."""
    return _BagSum.apply(values_UF, bags)


def bag_sum_of_rows(table: Tensor, bags: Bags) -> Tensor:
    """`bag_sum(take(table, bags.rows), bags)`, without a copy of the rows."""
    return _BagSumOfRows.apply(table, bags)


class _Take(torch.autograd.Function):
    """Rows of a table, each at most once, with a sparse gradient."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, rows_U: Tensor) -> Tensor:
        ctx.save_for_backward(rows_U)
        ctx.shape = table.shape
        return table.index_select(0, rows_U)  # five times as fast as table[rows]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (rows_U,) = ctx.saved_tensors
        return sparse_gradient(rows_U, gradients[0], ctx.shape), None


class _BagSum(torch.autograd.Function):
    """The sum of a bag's rows; the gradient of a row is the sum of its bags' gradients."""

    @staticmethod
    def forward(ctx: Any, values_UF: Tensor, bags: Bags) -> Tensor:
        ctx.bags = bags
        return functional.embedding_bag(bags.index, values_UF, bags.offsets, mode="sum", include_last_offset=True)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return row_gradient(gradients[0], ctx.bags), None


class _BagSumOfRows(torch.autograd.Function):
    """Both in one."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, bags: Bags) -> Tensor:
        ctx.bags = bags
        ctx.shape = table.shape
        index = bags.rows[bags.index]
        return functional.embedding_bag(index, table, bags.offsets, mode="sum", include_last_offset=True)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return sparse_gradient(ctx.bags.rows, row_gradient(gradients[0], ctx.bags), ctx.shape), None


def row_gradient(gradient_BF: Tensor, bags: Bags) -> Tensor:
    """The sum of its bags' gradients for each row (U×F)."""
    gradient_BF = gradient_BF.contiguous()
    return functional.embedding_bag(bags.bag, gradient_BF, bags.starts, mode="sum", include_last_offset=True)


def sparse_gradient(rows_U: Tensor, gradient_UF: Tensor, shape: torch.Size) -> Tensor:
    return torch.sparse_coo_tensor(rows_U[None], gradient_UF, shape, is_coalesced=True, check_invariants=False)
