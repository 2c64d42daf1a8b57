"""tf-idf of words and punctuation as they were written, for telling authors apart.

Case and runs of marks ("Ok", "!!!", "...") are kept: with 200 bloggers they took dev accuracy from 60.9 %, with
lower-cased words of two letters or more, to 65.5 %.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from atd.ragged import Ragged
from atd.tokeniser import Tokeniser

if TYPE_CHECKING:
    import pyarrow as pa
    from scipy.sparse import csr_matrix


@dataclass(frozen=True)
class Surface(Tokeniser):
    """Words and runs of other marks, unfolded."""

    def rule(self) -> Callable[[str], list[str]]:
        return re.compile(r"\w+|[^\w\s]+").findall


def counts(texts: pa.Array | pa.ChunkedArray) -> csr_matrix:
    """How often every distinct token occurs in every text (n×types)."""
    tokens = Surface()(texts)
    return count_table(tokens, len(tokens.types))


def count_table(texts: Ragged, V: int) -> csr_matrix:
    """How often every id occurs in every text (n×V)."""
    from scipy.sparse import csr_matrix

    ones = np.ones(len(texts.tokens), np.float32)
    tokens, offsets = texts.tokens.copy(), texts.offsets.copy()  # both change
    table = csr_matrix((ones, tokens, offsets), shape=(len(texts), V))
    table.sum_duplicates()
    return table


class TfIdf:
    """(1 + log tf) · idf with rows of unit norm. idf and the choice of tokens are those of the texts fitted on."""

    def __init__(self, min_df: int = 2):
        """`min_df`: a token must occur in so many of the fitted texts to count."""
        self.min_df = min_df

    def fit(self, table: csr_matrix) -> TfIdf:
        from sklearn.feature_extraction.text import TfidfTransformer

        self.kept = np.flatnonzero(np.bincount(table.indices, minlength=table.shape[1]) >= self.min_df)
        self.weights = TfidfTransformer(sublinear_tf=True).fit(table[:, self.kept])
        return self

    def transform(self, table: csr_matrix) -> csr_matrix:
        return self.weights.transform(table[:, self.kept])
