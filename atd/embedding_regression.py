"""Embedding regression: how the company that a word keeps depends on covariates (Rodriguez, Spirling, Stewart 2023).

Each occurrence of a word has an *à la carte* vector: A times the mean vector of the words around it. These vectors are
regressed on covariates such as a speaker's party. The length of a covariate's coefficient says how much it matters:

    B = (XᵀX)⁻¹ Xᵀ Y                            coefficients, a row of K numbers per covariate
    N_j = Σ_d B_jd²                             too large on average, by the variance of B
    N*_j = N_j − Σ_d V_jd                       the debiased squared norm (Green et al. 2025)
    V_jd = n/(n−k) Σ_i (h_ji e_id)²             with H = (XᵀX)⁻¹ Xᵀ and the residuals e = Y − X B

This is the method of R's conText, the baseline of everything here that compares how groups use words.

n occurrences, k covariates with the constant, K word dim, T words of all texts, R reach.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Regression:
    """What `regress` found; of every array one entry per column of X."""

    coefficients_kK: np.ndarray
    norm_k: np.ndarray  # N, squared
    debiased_k: np.ndarray  # N*; below zero where the data say nothing
    p_k: np.ndarray  # share of permutations with a larger N


def occurrences(
    tokens_T: np.ndarray, owner_T: np.ndarray, word: int, vectors_VK: np.ndarray, has_V: np.ndarray, reach: int = 6
) -> tuple[np.ndarray, np.ndarray]:
    """(the mean vector around each occurrence of a word (n×K), the text of each (n)).

    `owner_T` is the text of each token. Counted are the words at most `reach` places away in the same text that
    `has_V` a vector, with repetition. An id below zero is an empty place. Occurrences without company are left out.
    """
    at_n = np.flatnonzero(tokens_T == word)
    steps_R = np.concatenate([np.arange(-reach, 0), np.arange(1, reach + 1)])
    place_nR = at_n[:, None] + steps_R
    inside_nR = (place_nR >= 0) & (place_nR < len(tokens_T))
    place_nR = np.where(inside_nR, place_nR, 0)
    neighbour_nR = tokens_T[place_nR]
    same_nR = owner_T[place_nR] == owner_T[at_n][:, None]
    counts_nR = inside_nR & same_nR & (neighbour_nR >= 0) & has_V[np.maximum(neighbour_nR, 0)]
    total_nK = np.zeros((len(at_n), vectors_VK.shape[1]))
    occurrence, step = np.nonzero(counts_nR)
    np.add.at(total_nK, occurrence, vectors_VK[neighbour_nR[occurrence, step]])
    number_n = counts_nR.sum(1)
    alone = number_n == 0
    return total_nK[~alone] / number_n[~alone, None], owner_T[at_n][~alone]


def regress(Y_nK: np.ndarray, X_nk: np.ndarray, permutations: int = 100, seed: int = 0) -> Regression:
    """Regress the vectors of occurrences on covariates; X has a column of ones.

    The permutation test shuffles the residuals and regresses them on X again: how long would a coefficient be if the
    covariates meant nothing?
    """
    Y_nK, X_nk = (np.asarray(a, np.float64) for a in (Y_nK, X_nk))
    n, k = X_nk.shape
    H_kn = np.linalg.solve(X_nk.T @ X_nk, X_nk.T)
    B_kK = H_kn @ Y_nK
    e_nK = Y_nK - X_nk @ B_kK
    norm_k = np.square(B_kK).sum(1)
    variance_k = n / (n - k) * (np.square(H_kn) @ np.square(e_nK)).sum(1)
    random = np.random.default_rng(seed)
    larger_k = np.zeros(k)
    for _ in range(permutations):
        larger_k += np.square(H_kn[:, random.permutation(n)] @ e_nK).sum(1) > norm_k
    return Regression(B_kK, norm_k, norm_k - variance_k, larger_k / max(permutations, 1))
