"""How often each word is used under each attribute: what a word's vector under that attribute rests on.

V vocabulary, A attributes, M attributes of a text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from atd.design import Design
from atd.encoded import EncodedCorpus
from atd.given import column_place, named, value_shares

if TYPE_CHECKING:
    from scipy.sparse import csr_array

TOKENS = 4_000_000  # counted at a time


def usage_of(texts: EncodedCorpus, V: int, A: int) -> csr_array:
    """Words of these texts under each of their attributes (V×A). A text between two knots counts in part to both."""
    from scipy.sparse import coo_array, csr_array

    total = csr_array((V, A), dtype=np.float32)
    for first in range(0, len(texts.tokens), TOKENS):
        tokens = texts.tokens[first : first + TOKENS]
        owner = slice(first, first + len(tokens)) if texts.per_token else texts.owner[first : first + len(tokens)]
        ids_TM = texts.attributes[owner].reshape(len(tokens), -1)
        for m in range(ids_TM.shape[1]):
            share = np.ones(len(tokens)) if texts.shares is None else texts.shares[owner, m]
            total += coo_array((share.astype(np.float32), (tokens, ids_TM[:, m])), shape=(V, A)).tocsr()
    return total


def added(new: csr_array, old: csr_array, places: np.ndarray) -> csr_array:
    """The counts of a model that rows have joined. Old words come first; `places` are the old attributes."""
    from scipy.sparse import coo_array

    before = old.tocoo()
    row, column = before.coords
    return new + coo_array((before.data, (row, places[column])), shape=new.shape).tocsr()


def usage_under(usage: csr_array, design: Design, given: str | Mapping[str, Any]) -> np.ndarray:
    """How often texts that are described so use each word (V).

    Pairs of columns are not counted: of several columns the rarest decides. Of a mix the parts add up.
    """
    profiles = [given] if isinstance(given, Mapping) else named(given, design)[1]
    total_V = np.zeros(usage.shape[0])
    for profile in profiles:
        counts = [usage @ having(design, name, value) for name, value in profile.items()]
        total_V += np.min(counts, axis=0)
    return total_V


def having(design: Design, name: str, value: Any) -> np.ndarray:
    """The share of a column's value in each attribute of one term that has the column, 0 in others (A)."""
    q = column_place(name, design)
    term = next(t for t, columns in enumerate(design.terms) if q in columns)
    shares = value_shares(design.columns[q], value)
    out_A = np.zeros(len(design.term_A))
    out_A[design.term_A == term] = shares[design.combinations[term][:, design.terms[term].index(q)]]
    return out_A


def state_of(usage: csr_array) -> dict[str, Any]:
    """As tensors, for a checkpoint."""
    parts = {"starts": usage.indptr, "attributes": usage.indices, "counts": usage.data}
    return {name: torch.from_numpy(part) for name, part in parts.items()} | {"shape": list(usage.shape)}


def from_state(state: Mapping[str, Any]) -> csr_array:
    from scipy.sparse import csr_array

    parts = (state[name].numpy() for name in ("counts", "attributes", "starts"))
    return csr_array(tuple(parts), shape=tuple(state["shape"]))
