"""The words a softmax runs over, as one table: a product with it gives the logits, another gives their sums.

A logit is h·w + b. The loss wants it counted from the target's own logit, goal, and in units of log 2, because powers
of 2 take a third of the time of `exp`: (h·w + b − goal) / log 2. It also wants the sum of these powers over the words.
All this is done inside the matrix products when both sides have a few columns more (`Columns`):

    columns     a word's row       a position's row
    vector      w / log 2          h
    bias        b / log 2          1
    shift       1                  −goal / log 2
    padding     0                  0

The product of a position's row and a word's row is the shifted logit. The product of all powers of a position with the
table is, in the columns `vector`, the sum of the words' vectors weighted by their powers, and in the column `total`,
where every word has a 1, the sum of the powers.

`bias` and `shift` are two columns each: the number as far as the table's precision goes, and what rounding lost of it.
Thus products in bf16 spoil neither.

G groups of R positions each, S candidates of each group, H hidden, P columns. All positions are one group where they
share their candidates (G = 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

LOG2 = math.log(2)


class Columns:
    """Which columns of the table hold what."""

    def __init__(self, H: int):
        self.vector = slice(0, H)
        self.bias = slice(H, H + 2)
        self.shift = slice(H + 2, H + 4)
        self.total = H + 2  # the first of the table's columns of ones
        self.P = -(-(H + 4) // 16) * 16  # whole lanes: rows of 104 columns, across cache lines, take a third longer
        self.padding = slice(H + 4, self.P)


@dataclass
class Candidates:
    """The table of each group's words (G×S×P)."""

    columns: Columns
    table_GSP: Tensor

    @classmethod
    def of(cls, W_GSH: Tensor, b_GS: Tensor, dtype: torch.dtype | None = None) -> Candidates:
        """From vectors and biases; without groups, W_SH and b_S, they are the candidates of all positions."""
        if W_GSH.dim() == 2:
            W_GSH, b_GS = W_GSH[None], b_GS[None]
        columns = Columns(W_GSH.shape[-1])
        table_GSP = W_GSH.new_zeros(*b_GS.shape, columns.P, dtype=dtype)
        torch.mul(W_GSH, 1 / LOG2, out=table_GSP[..., columns.vector])
        write_exactly(b_GS / LOG2, table_GSP[..., columns.bias])
        table_GSP[..., columns.shift] = 1
        return cls(columns, table_GSP)

    @property
    def G(self) -> int:
        return self.table_GSP.shape[0]

    @property
    def S(self) -> int:
        return self.table_GSP.shape[1]

    @property
    def shared(self) -> bool:
        """Whether all positions have the same candidates."""
        return self.G == 1

    def part(self, groups: slice) -> Candidates:
        """The candidates of consecutive groups."""
        return self if self.shared else Candidates(self.columns, self.table_GSP[groups])

    def select(self, groups: Tensor) -> Candidates:
        """The candidates of some groups."""
        return self if self.shared else Candidates(self.columns, self.table_GSP.index_select(0, groups))

    def choose(self, ids_GS: Tensor, b_GS: Tensor) -> Candidates:
        """Groups made of some words of the only group, with biases of their own."""
        table_GSP = self.table_GSP[0].index_select(0, ids_GS.flatten()).unflatten(0, ids_GS.shape)
        write_exactly(b_GS / LOG2, table_GSP[..., self.columns.bias])
        return Candidates(self.columns, table_GSP)

    def positions(self, goal_GR: Tensor) -> Tensor:
        """The positions' rows (G×R×P), complete but for h, which goes into the columns `vector`."""
        h_GRP = self.table_GSP.new_empty(*goal_GR.shape, self.columns.P)
        h_GRP[..., self.columns.bias] = 1
        h_GRP[..., self.columns.padding] = 0
        write_exactly(-goal_GR / LOG2, h_GRP[..., self.columns.shift])
        return h_GRP

    def lower(self, h_GRP: Tensor, goal_GR: Tensor, rise_GR: Tensor) -> None:
        """Lower the logits, in units of log 2, by `rise`: rewrite the shift of the positions' rows."""
        write_exactly(-goal_GR / LOG2 - rise_GR, h_GRP[..., self.columns.shift])


def write_exactly(values: Tensor, pair: Tensor) -> None:
    """Into two columns: the values as far as the columns' precision goes, and what is left of them."""
    pair[..., 0] = values
    pair[..., 1] = values - pair[..., 0]


def locate(ids_GS: Tensor, target_GR: Tensor) -> Tensor:
    """The slot of each target among the candidates of its group, or −1 where it is not among them (G×R)."""
    sorted_GS, order_GS = ids_GS.sort(1)
    place_GR = torch.searchsorted(sorted_GS, target_GR).clamp(max=ids_GS.shape[1] - 1)
    found_GR = sorted_GS.gather(1, place_GR) == target_GR
    return order_GS.gather(1, place_GR).where(found_GR, -1)
