"""Columns of Arrow strings to pieces between white space, numbered: in threads, outside the interpreter's lock."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from atd.ragged import offsets_of
from atd.tokeniser import Tokens

SLICE = 1 << 22  # bytes of text one thread encodes at a time


def pieces(texts: pa.Array | pa.ChunkedArray) -> Tokens:
    """White-space separated pieces of every text; an empty piece stands at either end that is white space."""
    column = texts if isinstance(texts, pa.ChunkedArray) else pa.chunked_array([texts])
    rows = max(1, len(column) * SLICE // max(column.nbytes, 1))
    slices = [column.slice(i, rows).combine_chunks() for i in range(0, len(column), rows)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # Arrow works outside the interpreter lock
        parts = list(pool.map(_slice_pieces, slices))
    if not parts:
        return Tokens(np.zeros(0, np.int32), np.zeros(1, np.int64), [])
    whole = pa.chunked_array([flat for flat, _ in parts]).unify_dictionaries()
    index = [chunk.indices.to_numpy() for chunk in whole.chunks]
    lengths = np.concatenate([lengths for _, lengths in parts])
    types = whole.chunk(0).dictionary.to_pylist()
    return Tokens(np.concatenate(index), offsets_of(lengths), types)


def _slice_pieces(texts: pa.Array) -> tuple[pa.DictionaryArray, np.ndarray]:
    lists = pc.ascii_split_whitespace(pc.fill_null(texts, ""))
    return lists.flatten().dictionary_encode(), pc.list_value_length(lists).to_numpy()
