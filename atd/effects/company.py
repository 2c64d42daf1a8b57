"""The company that words keep: for each word in each document the mean vector of the words around it.

A *cell* is a word in a document. Its company is the words at most `reach` places away from any of its occurrences, each
counted once; the word itself is not part of it.

    y_c = Σ_j a_j v_j / |company|      a_j = s / (s + share of word j in the text): frequent words say little
    z_c = the same over the rest of the document, pulled to zero where little is left

V vocabulary, K word dim, r dims kept, c cells, o occurrences, R places around, n documents, T words of all texts.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import torch

from atd.ragged import Ragged

DIMS = 100  # of longer vectors, the principal ones
SMOOTH = 1e-2  # s: a word with this share of the text counts half
LONG = 2.0  # vectors longer than so many times the median are cut to that length
REST = 30.0  # so many other words make half a description of a document's subject
CHUNK = 1 << 13  # occurrences gathered at once


@dataclass(frozen=True)
class Cells:
    """Cells in the order of word, then document."""

    word_c: np.ndarray
    document_c: np.ndarray
    times_c: np.ndarray  # occurrences
    place_o: np.ndarray  # where the occurrences are, cell after cell: cell c has begin_c[c] … begin_c[c + 1]
    begin_c: np.ndarray

    def __len__(self) -> int:
        return len(self.word_c)

    def take(self, some_c: np.ndarray) -> Cells:
        """The cells that a mask names."""
        times_c = self.times_c[some_c]
        place_o = self.place_o[np.repeat(some_c, self.times_c)]
        return Cells(self.word_c[some_c], self.document_c[some_c], times_c, place_o, np.append(0, np.cumsum(times_c)))

    def words(self) -> tuple[np.ndarray, np.ndarray]:
        """(the words, where the cells of each begin, and at last where they end)."""
        first = np.flatnonzero(np.diff(self.word_c, prepend=-1))
        return self.word_c[first], np.append(first, len(self))


def cells_of(tokens_T: np.ndarray, owner_T: np.ndarray, keep_T: np.ndarray, documents: int) -> Cells:
    """The cells of the tokens that are kept."""
    place_o = np.flatnonzero(keep_T)
    key_o = tokens_T[place_o].astype(np.int64) * documents + owner_T[place_o]
    order_o = np.argsort(key_o, kind="stable")
    key_o = key_o[order_o]
    first_c = np.flatnonzero(np.diff(key_o, prepend=-1))
    begin_c = np.append(first_c, len(key_o))
    key_c = key_o[first_c]
    return Cells(key_c // documents, key_c % documents, np.diff(begin_c), place_o[order_o], begin_c)


def table_of(vectors_VK: np.ndarray, tokens_T: np.ndarray) -> np.ndarray:
    """What is summed over company: a_j times vectors, centred, at most DIMS numbers, and a one for counting.

    Words whose vector is zero or not finite count for nothing. The last row is for places without a word.
    """
    vectors_VK = np.asarray(vectors_VK, np.float32)
    V, K = vectors_VK.shape
    has_V = np.isfinite(vectors_VK).all(1) & (vectors_VK != 0).any(1)
    vectors_VK = np.where(has_V[:, None], vectors_VK, 0)
    length_V = np.linalg.norm(vectors_VK, axis=1)
    longest = LONG * np.median(length_V[has_V]) if has_V.any() else 1.0
    vectors_VK *= (longest / np.maximum(length_V, longest))[:, None]
    count_V = np.bincount(tokens_T[tokens_T >= 0], minlength=V) * has_V
    share_V = count_V / max(count_V.sum(), 1)
    weight_V = SMOOTH / (SMOOTH + share_V) * has_V
    typical_V = share_V * weight_V / max(share_V @ weight_V, 1e-12)
    table_VK = weight_V[:, None] * (vectors_VK - typical_V @ vectors_VK)
    if K > DIMS:
        covariance_KK = (table_VK * share_V[:, None]).T @ table_VK
        table_VK = table_VK @ np.linalg.eigh(covariance_KK)[1][:, -DIMS:]
    counted = np.column_stack([table_VK, has_V])
    return np.vstack([counted, np.zeros(counted.shape[1])]).astype(np.float32)


class Company:
    """Mean vectors around words, for any cells of one corpus."""

    def __init__(self, texts: Ragged, table_Vr: np.ndarray, reach: int):
        self.reach = reach
        self.steps_R = np.r_[-reach:0, 1 : reach + 1].astype(np.int32)
        self.table_Vr = table_Vr
        self.nothing = len(table_Vr) - 1
        self.tokens_T = np.asarray(texts.tokens)
        self.owner_T = texts.owner
        self.padded_T = (np.arange(len(self.tokens_T)) + (self.owner_T + 1) * reach).astype(np.int32)
        self.padded = np.full(len(self.tokens_T) + (len(texts) + 1) * reach, self.nothing, np.int32)
        self.padded[self.padded_T] = np.where(self.tokens_T < 0, self.nothing, self.tokens_T)
        self.whole_nr = self._sums(self.padded[self.padded_T], texts.offsets[:-1])

    def means(self, cells: Cells, first: int, last: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(y, z, whether there is company) of the cells first … last."""
        near_cr = self._near(cells, first, last)
        own_cr = cells.times_c[first:last, None].astype(np.float32) * self.table_Vr[cells.word_c[first:last]]
        rest_cr = self.whole_nr[cells.document_c[first:last]] - near_cr - own_cr
        number_c = near_cr[:, -1]
        y_cr = near_cr[:, :-1] / np.maximum(number_c, 1)[:, None]
        z_cr = rest_cr[:, :-1] / (np.maximum(rest_cr[:, -1], 0) + REST)[:, None]
        return y_cr, z_cr, number_c > 0

    def _near(self, cells: Cells, first: int, last: int) -> np.ndarray:
        """Sums over the company of cells, gathered in pieces that fit into the processor's cache."""
        begin_c = cells.begin_c[first : last + 1]
        cuts = np.searchsorted(begin_c, np.arange(begin_c[0], begin_c[-1], CHUNK), side="right") - 1
        bounds = np.append(first + np.unique(cuts), last)
        pieces = [self._piece(cells, a, b) for a, b in itertools.pairwise(bounds)]
        return np.concatenate(pieces)

    def _piece(self, cells: Cells, first: int, last: int) -> np.ndarray:
        begin_c = cells.begin_c[first : last + 1]
        at_o = self.padded_T[cells.place_o[begin_c[0] : begin_c[-1]]]
        seen_o = np.append(0, at_o[:-1]) + self.reach  # the company of the occurrence before reaches so far
        seen_o[begin_c[:-1] - begin_c[0]] = 0
        near_oR = at_o[:, None] + self.steps_R
        company_oR = self.padded[near_oR]
        company_oR[(company_oR == self.padded[at_o][:, None]) | (near_oR <= seen_o[:, None])] = self.nothing
        return self._sums(company_oR.ravel(), (begin_c[:-1] - begin_c[0]) * len(self.steps_R))

    def _sums(self, words: np.ndarray, begin: np.ndarray) -> np.ndarray:
        """Sums of the table's rows, one per bag; bag i begins at begin[i]."""
        ids, table, starts = (torch.from_numpy(a) for a in (words, self.table_Vr, begin.astype(np.int32)))
        return torch.nn.functional.embedding_bag(ids, table, starts, mode="sum").numpy()
