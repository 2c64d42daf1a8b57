"""Tokens to ids: a vocabulary counted on some documents, and flat int32 ids of all of them."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np

from atd.tokeniser import Tokeniser, Tokens
from atd.vocabulary import UNK_ID, Vocabulary

if TYPE_CHECKING:
    from atd.tokeniser import Texts


def count_vocabulary(
    tokens: Tokens,
    min_count: int = 1,
    max_size: int | None = None,
    documents: np.ndarray | None = None,
    old: Vocabulary | None = None,
) -> Vocabulary:
    """The words of the documents in the mask `documents`, say those of the training split, after `old` ones."""
    counts = tokens.counts(documents)
    return Vocabulary.from_counts({word: n for word, n in counts.items() if n}, min_count, max_size, old)


def ids(tokens: Tokens, vocabulary: Vocabulary) -> np.ndarray:
    """(n_tokens,) int32: every token's id, `<unk>` where the vocabulary lacks it."""
    table = np.fromiter(map(vocabulary.index.get, tokens.types, repeat(UNK_ID)), np.int32)
    return table[tokens.tokens] if len(table) else tokens.tokens


def encode(
    texts: Texts,
    tokeniser: Tokeniser,
    vocabulary: Vocabulary | None = None,
    min_count: int = 1,
    max_size: int | None = None,
    documents: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, Vocabulary]:
    """(ids, offsets, vocabulary) of texts; without a given vocabulary one is counted on them (or on `documents`)."""
    tokens = tokeniser.folded(texts)
    if vocabulary is None:
        vocabulary = count_vocabulary(tokens, min_count, max_size, documents)
    return ids(tokens, vocabulary), tokens.offsets, vocabulary
