"""Least squares on indicators: the vectors of values that together come closest to those of the texts.

Two columns of many values each make a matrix whose factors are full: of 4,000 values they take 2 s, of 100,000 more
memory than there is. Conjugate gradients need products with the sparse matrix alone, and some fifty of them.

n texts, C columns of indicators, D dims.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

TOLERANCE = 1e-6  # of the residual, relative to where it starts
STEPS = 1000  # at most


def fitted(seen_nC: csr_matrix, weight_n: np.ndarray, x_nD: np.ndarray, ridge: float) -> np.ndarray:
    """The minimum of Σ_n weight_n ‖seen_n y − x_n‖² + ridge ‖y‖² (C×D), all D systems side by side."""
    weighted_Cn = seen_nC.T.multiply(weight_n).tocsr()
    gram_CC = (weighted_Cn @ seen_nC).tocsr()
    scale_C1 = gram_CC.diagonal()[:, None] + ridge
    rest_CD = weighted_Cn @ x_nD
    y_CD = np.zeros_like(rest_CD)
    way_CD = rest_CD / scale_C1
    length_D = start_D = (rest_CD * way_CD).sum(0)
    for _ in range(STEPS):
        if (length_D <= TOLERANCE**2 * start_D).all():
            break
        bent_CD = gram_CC @ way_CD + ridge * way_CD
        step_D = length_D / np.maximum((way_CD * bent_CD).sum(0), np.finfo(float).tiny)
        y_CD += step_D * way_CD
        rest_CD -= step_D * bent_CD
        scaled_CD = rest_CD / scale_C1
        before_D, length_D = length_D, (rest_CD * scaled_CD).sum(0)
        way_CD = scaled_CD + length_D / np.maximum(before_D, np.finfo(float).tiny) * way_CD
    return y_CD
