"""Sums over ragged bags of rows, fast both ways: the sentence vector of a bag-of-words model.

A table may have a million rows, and a batch uses a few thousand of them. `Bags` numbers these once, without sorting,
and keeps the rows of each bag and the bags of each row. Then the sum is one `embedding_bag`, its gradient another, and
the gradient of the table is sparse with every row once.

B bags, U distinct rows, F columns.
"""

from __future__ import annotations

from ctypes import CDLL, c_int64
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from atd import native
from atd.native import address
from atd.ragged import Ragged


@dataclass
class Bags:
    """Which rows each bag sums, and which bags each row goes to.

    Bag b sums the rows `words[offsets[b]:offsets[b + 1]]` of the table: those number `index[…]` of `rows`. Row number u
    of `rows` goes to the bags `bag[starts[u]:starts[u + 1]]`.
    """

    words: Tensor
    rows: Tensor  # U, the distinct rows of the table that are used, rising
    index: Tensor
    offsets: Tensor  # B+1
    bag: Tensor
    starts: Tensor  # U+1

    @classmethod
    def of(cls, texts: Ragged, size: int) -> Bags:
        """A bag for each text; its tokens are row numbers below `size`."""
        lib = native.kernel("bags")
        numbers = numbered(texts, size) if lib is None else numbered_natively(lib, texts, size)
        return cls(*map(_tensor, (texts.tokens, *numbers)))

    def to(self, device: torch.device | str) -> Bags:
        return Bags(*(getattr(self, field.name).to(device) for field in fields(self)))

    def __len__(self) -> int:
        return len(self.offsets) - 1


def numbered(texts: Ragged, size: int) -> tuple[np.ndarray, ...]:
    """The fields of `Bags` after `words`."""
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
    return rows, index, texts.offsets, by_row.indices, by_row.indptr


def numbered_natively(lib: CDLL, texts: Ragged, size: int) -> tuple[np.ndarray, ...]:
    """`numbered` in three passes, during which other threads run: a loader makes a batch while the last one is used."""
    tokens, offsets = (np.ascontiguousarray(part, dtype=np.int64) for part in (texts.tokens, texts.offsets))
    T = len(tokens)
    if T and not 0 <= tokens.min() <= tokens.max() < size:
        raise IndexError(f"rows of bags are 0 … {size - 1}, not {tokens.min()} … {tokens.max()}")
    place = np.zeros(size, dtype=np.int32)
    rows = np.empty(min(T, size), dtype=np.int64)
    starts = np.empty(min(T, size) + 1, dtype=np.int64)
    index = np.empty(T, dtype=np.int64)
    bag = np.empty(T, dtype=np.int64)
    lib.number_rows.restype = c_int64
    counted = [address(each) for each in (place, rows, starts)]
    used = lib.number_rows(address(tokens), c_int64(T), c_int64(size), *counted)
    rows, starts = rows[:used], starts[: used + 1]
    following = starts.copy()
    written = [address(each) for each in (place, following, index, bag)]
    lib.fill_bags(address(tokens), address(offsets), c_int64(len(texts)), *written)
    return rows, index, offsets, bag, starts


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
        return functional.embedding_bag(bags.words, table, bags.offsets, mode="sum", include_last_offset=True)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return sparse_gradient(ctx.bags.rows, row_gradient(gradients[0], ctx.bags), ctx.shape), None


def row_gradient(gradient_BF: Tensor, bags: Bags) -> Tensor:
    """The sum of its bags' gradients for each row (U×F)."""
    gradient_BF = gradient_BF.contiguous()
    return functional.embedding_bag(bags.bag, gradient_BF, bags.starts, mode="sum", include_last_offset=True)


def sparse_gradient(rows_U: Tensor, gradient_UF: Tensor, shape: torch.Size) -> Tensor:
    return torch.sparse_coo_tensor(rows_U[None], gradient_UF, shape, is_coalesced=True, check_invariants=False)
