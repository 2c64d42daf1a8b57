"""The effect on one word: its size without bias, its noise, and its place among all ways to deal values to documents.

    μ_a = Σ_d h_ad y_d              mean use under value a; h_ad = u_d / Σ u of the documents with value a
    Q = Σ_ab C_ab μ_a·μ_b           mean over pairs of |μ_a − μ_b|²:  C = 2 / (A−1) · (I − 1/A)
    V_a = Σ_d g_d g_dᵀ              noise of μ_a;  g_d = h_d e_d / √(1 − h_d), e_d = y_d − μ_a
    θ = Q − Σ_a C_aa tr V_a         the effect
    var θ = 2 Σ_ab C_ab² tr V_a V_b + 4 Σ_a (Cμ)_aᵀ V_a (Cμ)_a

Along a number x there is one μ, the slope times two standard deviations of x, and C = 1.

A values, n documents (or groups of them) of the word, r dims.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, lgamma

import numpy as np

from atd.effects.permutations import Sums, fatter, moments, sums_of_cells, sums_of_slope, sums_of_vectors, tail

FAR = 3.0  # a document further out than so many times the median is pulled in to that length
FEW = 1.2  # (t / 1.96)² is about 1 + 2 · FEW / df, where noise itself is known from few documents
SMALL = 0.02  # below this p the tail is looked at more closely


@dataclass(frozen=True)
class WordEffect:
    effect: float  # θ
    linear: float  # Σ_a (Cμ)_aᵀ V_a (Cμ)_a
    anywhere: float  # noise in a direction that is like all others
    square: float  # Σ C_ab² tr V_a V_b
    p: float  # of the permutation statistic
    means_Ar: np.ndarray  # mean use under each value, from the mean over all; nan where there are too few documents


def between_values(y_nr: np.ndarray, u_n: np.ndarray, value_n: np.ndarray, least: int, A: int) -> WordEffect | None:
    """Between values that have `least` documents or more; None if fewer than two have."""
    count_A = np.bincount(value_n, minlength=A)
    enough_A = count_A >= least
    a = int(enough_A.sum())
    if a < 2:
        return None
    order_n = np.argsort(value_n, kind="stable")
    order_n = order_n[enough_A[value_n[order_n]]]  # the documents of one value after those of another
    code_n = (np.cumsum(enough_A) - 1)[value_n[order_n]]
    u_n, count_a = u_n[order_n], count_A[enough_A]
    first_a = np.cumsum(count_a) - count_a
    y_nr = _pulled_in(y_nr[order_n], u_n)
    s_nr = u_n[:, None] * y_nr
    total_ar = np.add.reduceat(s_nr, first_a)
    statistic = float((np.square(total_ar).sum(1) / count_a).sum())
    rarest = sum(lgamma(n + 1) for n in count_a) - lgamma(len(u_n) + 1)
    p = _p(statistic, s_nr, sums_of_cells(count_a.astype(float)), rarest)
    weight_a = np.add.reduceat(u_n, first_a)
    mu_ar = total_ar / weight_a[:, None]
    h_n = u_n / weight_a[code_n]
    g_nr = (h_n / np.sqrt(1 - h_n))[:, None] * (y_nr - mu_ar[code_n])
    C_aa = 2 / (a - 1) * (np.eye(a) - 1 / a)
    means_Ar = np.full((A, y_nr.shape[1]), np.nan, np.float32)
    means_Ar[enough_A] = mu_ar
    return WordEffect(*_effect(mu_ar, g_nr, code_n, C_aa), p, means_Ar)


def along_number(y_nr: np.ndarray, u_n: np.ndarray, x_n: np.ndarray, least: int, spread: float) -> WordEffect | None:
    """Along a number whose standard deviation over all documents is `spread`; None if a word has too few documents."""
    n = len(x_n)
    x_n = x_n - u_n @ x_n / u_n.sum()
    if n < 2 * least or np.ptp(x_n) == 0:
        return None
    y_nr = _pulled_in(y_nr, u_n)
    plain_n = x_n - x_n.mean()
    s_nr = u_n[:, None] * y_nr
    statistic = float(np.square(plain_n @ s_nr).sum() / np.square(plain_n).sum())
    p = _p(statistic, s_nr, sums_of_slope(plain_n), -lgamma(n + 1))
    squares = u_n @ np.square(x_n)
    slope_r = (x_n @ s_nr) / squares
    leverage_n = u_n / u_n.sum() + u_n * np.square(x_n) / squares
    h_n = 2 * spread * u_n * x_n / squares
    g_nr = (h_n / np.sqrt(np.maximum(1 - leverage_n, 1e-6)))[:, None] * (y_nr - x_n[:, None] * slope_r)
    mu_1r = 2 * spread * slope_r[None]
    means_2r = np.vstack([-mu_1r, mu_1r]).astype(np.float32) / 2
    return WordEffect(*_effect(mu_1r, g_nr, np.zeros(n, int), np.eye(1)), p, means_2r)


def _pulled_in(y_nr: np.ndarray, u_n: np.ndarray) -> np.ndarray:
    """Centred; the few documents that are far out cannot decide alone."""
    y_nr = y_nr - u_n @ y_nr / u_n.sum()
    length_n = np.sqrt(np.einsum("nr,nr->n", y_nr, y_nr))
    limit = FAR * np.median(length_n)
    far_n = length_n > limit
    if far_n.any():
        y_nr[far_n] *= (limit / length_n[far_n])[:, None]
        y_nr -= u_n @ y_nr / u_n.sum()
    return y_nr


def _p(statistic: float, s_nr: np.ndarray, values: Sums, rarest: float) -> float:
    """The share of ways to deal the values that give this statistic or more; at least one way does, exp(`rarest`)."""
    mean, variance, skewness = moments(sums_of_vectors(s_nr), values, len(s_nr))
    if variance <= 0:
        return 1.0
    z = (statistic - mean) / variance**0.5
    p = float(tail(z, skewness))
    if p < SMALL:
        p = min(p * fatter(z, np.linalg.eigvalsh(s_nr.T.astype(np.float64) @ s_nr), round(values.T)), SMALL)
    return max(p, exp(rarest))


def _effect(
    mu_ar: np.ndarray, g_nr: np.ndarray, code_n: np.ndarray, C_aa: np.ndarray
) -> tuple[float, float, float, float]:
    """(θ, `linear`, `anywhere`, `square`). The noise in μ itself and what a document has with itself are taken out.

    The documents are in the order of their code.
    """
    a = len(mu_ar)
    C_mu_ar = C_aa @ mu_ar
    size_n = np.einsum("nr,nr->n", g_nr, g_nr)
    noise = float(np.diag(C_aa) @ np.bincount(code_n, size_n, a))
    theta = float((mu_ar * C_mu_ar).sum()) - noise
    parts = np.split(g_nr, np.searchsorted(code_n, np.arange(1, a)))
    V_arr = np.stack([part.T @ part for part in parts])
    flat = V_arr.reshape(a, -1)
    products_aa = flat @ flat.T
    whole = float((C_aa**2 * products_aa).sum())
    own = float(np.diag(C_aa) ** 2 @ np.bincount(code_n, np.square(size_n), a))
    square = max(whole - own, 0.1 * whole)
    pull_n = np.square(np.einsum("nr,nr->n", g_nr, C_mu_ar[code_n]))
    linear = float(pull_n.sum()) - whole
    wider = _wider(pull_n, a)
    return theta, wider * linear, wider * square / max(noise, 1e-30), wider**2 * square


def _wider(pull_n: np.ndarray, a: int) -> float:
    """By how much to raise a variance that is known from the squares `pull_n` only: few and unequal ones say little."""
    n = len(pull_n)
    unequal = float(np.square(pull_n).sum()) / max(float(pull_n.sum()) ** 2, 1e-30) - 1 / n  # 2 / df (Satterthwaite)
    return (1 + FEW * max(unequal, 0.0)) * n / (n - a)
