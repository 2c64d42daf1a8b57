"""Vectors of languages without a model: what counting knows.

A languages, V units, M meanings, K kinds of meaning.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from datamodules.verses import FIRST

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from datamodules.verses import Verses

KINDS = 150  # of meanings
SOME = 120  # languages by which kinds of meanings are found, at most


def ngrams(data: Verses) -> np.ndarray:
    """Square roots of frequencies of 1-grams to n-grams, joined (A×…): the best profile of n-grams that is published.

    Shorter ones are counted as the beginnings of longer ones, all n-grams of the text and not the commonest alone.
    """
    return np.hstack([np.sqrt(share_AV) for share_AV in data.profiles()])


def verse_ngrams(data: Verses) -> np.ndarray:
    """Products between languages (A×A) of what they use in each kind of meaning more than elsewhere.

    A verse is the set of its units, to unit length. Each language has a table of kinds × units, less its own mean;
    languages are compared by these tables.
    """
    kinds_MK = kinds(data, KINDS, data.seed)
    tables = np.stack([table(x_MV, kinds_MK) for x_MV in verses_of(data)])
    tables -= tables.mean(0)
    flat = tables.reshape(len(tables), -1)
    return flat @ flat.T


def reduced(similar_AA: np.ndarray, D: int) -> np.ndarray:
    """Vectors of D numbers (A×D) whose products are as near as can be to these of centred vectors."""
    values, axes = np.linalg.eigh(similar_AA.astype(np.float64))
    return axes[:, ::-1][:, :D] * np.sqrt(np.maximum(values[::-1][:D], 0))


def random(data: Verses) -> np.ndarray:
    return np.random.default_rng(7).normal(size=(len(data.attributes), 100))


def verses_of(data: Verses) -> Iterator[csr_matrix]:
    """Which units each training verse has (M×V), language by language: rows of unit length, empty without a text."""
    from scipy.sparse import csr_matrix
    from sklearn.preprocessing import normalize

    train = data.encoded["train"]
    order = np.argsort(train.attributes, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(train.attributes[order])) + 1):
        where, offsets = train.where(rows)
        meaning_T = np.repeat(train.columns["meaning"][rows], np.diff(offsets))
        ones = np.ones(len(where), np.float32)
        found = csr_matrix((ones, (meaning_T, train.tokens[where] - FIRST)), (data.meanings, data.units))
        found.sum_duplicates()
        found.data[:] = 1
        yield normalize(found)


def kinds(data: Verses, K: int, seed: int) -> np.ndarray:
    """The directions in which verses differ most, summed over some languages, drawn by the seed (M×K)."""
    product_MM = np.zeros((data.meanings, data.meanings))
    chosen = set(np.random.default_rng(seed).permutation(len(data.attributes))[:SOME].tolist())
    for i, x_MV in enumerate(verses_of(data)):
        if i in chosen:
            mean_V = np.asarray(x_MV.mean(0)).ravel()
            to_mean_M = x_MV @ mean_V
            product_MM += (x_MV @ x_MV.T).toarray() - to_mean_M[:, None] - to_mean_M + mean_V @ mean_V
    _, vectors = np.linalg.eigh(product_MM)
    return vectors[:, ::-1][:, :K]


def table(x_MV: csr_matrix, kinds_MK: np.ndarray) -> np.ndarray:
    """Kinds × units of one language (K×V), less what it uses in all verses alike."""
    there_M = np.diff(x_MV.indptr) > 0
    mean_V = np.asarray(x_MV.sum(0)).ravel() / max(there_M.sum(), 1)
    alike_KV = np.outer(kinds_MK[there_M].sum(0), mean_V)
    return (np.asarray(x_MV.T @ kinds_MK).T - alike_KV).astype(np.float32)
