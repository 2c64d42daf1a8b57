"""What a report costs as attributes and texts become many: the map, what each column adds, words used otherwise.

n texts, A attributes, D attribute dim.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_matrix, hstack

from atd.effects import effects
from atd.least_squares import fitted
from atd.ragged import Ragged, offsets_of
from tasks.figures.maps import plane, scatter_map

D = 32
WORDS = 40  # of a text
VOCABULARY = 200
TEXTS_EACH = 2  # of every attribute: columns with many values have few texts for each


def mapped(A: int) -> Callable[[], object]:
    """All attributes on one map, as many of them named as there is room for."""
    x_AD = np.random.default_rng(0).normal(size=(A, D)).astype(np.float32)
    names = [f"author {i}" for i in range(A)]
    return lambda: scatter_map(plane(x_AD), names)


def columns(A: int) -> Callable[[], object]:
    """The vectors of two columns of A/2 values each, from those of the texts."""
    random, n = np.random.default_rng(0), TEXTS_EACH * A
    codes = random.integers(0, A // 2, (2, n))
    seen = hstack([csr_matrix((np.ones(n), (np.arange(n), code_n)), (n, A // 2)) for code_n in codes], "csr")
    words_n, x_nD = random.integers(20, 200, n).astype(float), random.normal(size=(n, D))
    return lambda: fitted(seen, words_n, x_nD, 1e-6 * words_n.sum())


def used(n: int) -> Callable[[], object]:
    """How far the use of every word differs between the two values of a column."""
    random = np.random.default_rng(0)
    tokens = random.integers(0, VOCABULARY, n * WORDS).astype(np.int32)
    texts, value_n = Ragged(tokens, offsets_of(np.full(n, WORDS))), random.integers(0, 2, n)
    vectors_VK = random.normal(size=(VOCABULARY, D)).astype(np.float32)
    return lambda: effects(texts, value_n, vectors_VK)
