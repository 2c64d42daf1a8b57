"""Passes over a whole vocabulary in C: `native/vocabulary.c`, and the layout of the words that it reads.

V words, K numbers of each, L words of a block, Q queries, k words kept, B rows, H hidden numbers.
"""

from __future__ import annotations

import ctypes
import math
from ctypes import c_long

import torch
from torch import Tensor
from torch.nn import functional

from atd.native import address, in_parts, kernel

LEAST = 24  # rows or queries for a thread


def library(words: Tensor) -> ctypes.CDLL | None:
    """The compiled passes, if there are any for numbers of this kind."""
    return kernel("vocabulary") if words.device.type == "cpu" and words.dtype == torch.float32 else None


def blocks(table_VK: Tensor, L: int) -> Tensor:
    """Blocks of L words, the numbers of a block one after the other (V/L × K × L); missing words are zeros."""
    padded = functional.pad(table_VK, (0, 0, 0, -len(table_VK) % L))
    return padded.unflatten(0, (-1, L)).transpose(1, 2).contiguous()


class CodedWords:
    """Words of unit norm, with a copy in bytes that says which of them need a look."""

    def __init__(self, passes: ctypes.CDLL, unit_VK: Tensor):
        self.passes, self.unit_VK = passes, unit_VK.contiguous()
        V, K = unit_VK.shape
        whole = V + -V % passes.width()
        self.codes = torch.zeros(whole * K, dtype=torch.int8)
        self.scale, self.error = torch.zeros(2, whole)
        outputs = map(address, (self.codes, self.scale, self.error))
        passes.encode_all(address(self.unit_VK), c_long(V), c_long(K), *outputs)

    def nearest(self, query_QK: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """The k words with the largest products with each query of unit norm: (ids, products in double precision)."""
        (V, K), Q = self.unit_VK.shape, len(query_QK)
        query_QK = query_QK.contiguous()
        product_Qk = torch.full((Q, k), -torch.inf, dtype=torch.float64)
        word_Qk = torch.zeros(Q, k, dtype=torch.long)
        words = [address(each) for each in (self.codes, self.scale, self.error, self.unit_VK)]

        def part(i: int, j: int) -> None:
            block = torch.empty(K * self.passes.width())
            outputs = (address(block), address(product_Qk[i:j]), address(word_Qk[i:j]))
            self.passes.nearest(
                *words, c_long(V), c_long(K), address(query_QK[i:j]), c_long(j - i), c_long(k), *outputs
            )

        in_parts(Q, part, torch.get_num_threads(), LEAST)
        return word_Qk, product_Qk


class SoftmaxTable:
    """The output layer of a language model, from which words are drawn."""

    def __init__(self, passes: ctypes.CDLL, W_VH: Tensor, b_V: Tensor, temperature: float):
        self.passes, self.L = passes, passes.width()
        self.scale = 1 / (temperature * math.log(2))
        self.blocks = blocks(W_VH, self.L)
        self.bias = functional.pad(b_V * self.scale, (0, -len(b_V) % self.L), value=-torch.inf)

    def draw(self, h_BH: Tensor, u_B: Tensor) -> Tensor:
        """The word of each row where the running sum of softmax((h·W + b) / temperature) passes u (B)."""
        (B, H), n = h_BH.shape, len(self.blocks)
        h_BH = (h_BH * self.scale).contiguous()
        stride = n + -n % self.L
        most, sums = torch.full((B, stride), -torch.inf), torch.zeros(B, stride)
        word_B = torch.empty(B, dtype=torch.long)
        layer = (address(self.blocks), address(self.bias), c_long(n), c_long(H))

        def part(i: int, j: int) -> None:
            rows = (address(h_BH[i:j]), c_long(j - i), address(u_B[i:j]))
            outputs = (address(most[i:j]), address(sums[i:j]), address(word_B[i:j]))
            self.passes.draw(*layer, *rows, c_long(stride), *outputs)

        in_parts(B, part, torch.get_num_threads(), LEAST)
        return word_B
