"""Tests without permuting: the exact moments of a permutation distribution, its tail, and the false discovery rate.

The statistic is Σ_ij G_ij L_ij. G are inner products between documents, L says how alike the documents' values are;
rows of both sum to zero. When values are dealt to documents at random, its mean, variance and skewness follow from six
or so sums over G and the same sums over L (Kazi-Aoual et al. 1995). A Pearson III distribution with these three
moments gives p, also where millions of permutations would be needed; small p are raised by what its tail is too short.

n documents, r dims.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

ROWS = 64  # of G whose cubes are summed; of more documents, so many at equal steps


@dataclass(frozen=True)
class Sums:
    """Of a symmetric matrix whose rows sum to zero. Names are those of Kazi-Aoual et al."""

    T: float  # Σ a_ii
    T2: float  # trace of A²
    T3: float  # trace of A³
    S2: float  # Σ a_ii²
    S3: float  # Σ a_ii³
    U: float  # Σ a_ij³
    R: float  # Σ a_ii (A²)_ii
    B: float  # Σ a_ii a_ij a_jj


def sums_of_vectors(x_nr: np.ndarray) -> Sums:
    """Of A = x xᵀ; rows of x sum to zero."""
    S_rr = x_nr.T @ x_nr
    xS_nr = x_nr @ S_rr
    diagonal_n = np.einsum("nr,nr->n", x_nr, x_nr)
    some_s, times_s = longest_and_some(diagonal_n)
    G_sn = x_nr[some_s] @ x_nr.T
    return Sums(
        T=float(diagonal_n.sum()),
        T2=float(np.square(S_rr).sum()),
        T3=float(((S_rr @ S_rr) * S_rr).sum()),
        S2=float(np.square(diagonal_n).sum()),
        S3=float(np.square(diagonal_n) @ diagonal_n),
        U=float(times_s @ np.einsum("sn,sn->s", G_sn * G_sn, G_sn)),
        R=float(diagonal_n @ np.einsum("nr,nr->n", xS_nr, x_nr)),
        B=float(np.square(diagonal_n @ x_nr).sum()),
    )


def longest_and_some(size_n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(rows whose cubes stand for those of all, how many rows each stands for): the longest for themselves only."""
    n = len(size_n)
    if n <= ROWS:
        return np.arange(n), np.ones(n)
    order_n = np.argpartition(-size_n, ROWS // 2)
    others = order_n[ROWS // 2 :]
    others_s = np.sort(others)[:: -(-len(others) // (ROWS // 2))]
    times_s = np.append(np.ones(ROWS // 2), np.full(len(others_s), len(others) / len(others_s)))
    return np.append(order_n[: ROWS // 2], others_s), times_s


def sums_of_cells(count_A: np.ndarray) -> Sums:
    """Of the projection on values: a_ij = [same value] / number of it − 1 / n."""
    n, A = count_A.sum(), len(count_A)
    g_A = 1 / count_A - 1 / n
    S2 = float((count_A * g_A**2).sum())
    U = float((count_A**2 * g_A**3).sum() - (n**2 - (count_A**2).sum()) / n**3)
    B = float((count_A * g_A**2).sum() - (A - 1) ** 2 / n)
    return Sums(A - 1.0, A - 1.0, A - 1.0, S2, float((count_A * g_A**3).sum()), U, S2, B)


def sums_of_slope(x_n: np.ndarray) -> Sums:
    """Of the projection on one centred number: a_ij = x_i x_j / Σ x²."""
    x_n = x_n / np.sqrt(np.square(x_n).sum())
    S2, cubed = float((x_n**4).sum()), float((x_n**3).sum() ** 2)
    return Sums(1.0, 1.0, 1.0, S2, float((x_n**6).sum()), cubed, S2, cubed)


def moments(g: Sums, h: Sums, n: int) -> tuple[float, float, float]:
    """(mean, variance, skewness) of Σ G_ij L_ij over all n! ways to deal values to documents; n ≥ 6."""
    mean = g.T * h.T / (n - 1)
    even = ((n - 1) * g.T2 - g.T**2) * ((n - 1) * h.T2 - h.T**2)
    odd_g = n * (n + 1) * g.S2 - (n - 1) * (g.T**2 + 2 * g.T2)
    odd_h = n * (n + 1) * h.S2 - (n - 1) * (h.T**2 + 2 * h.T2)
    variance = 2 * even / ((n - 1) ** 2 * (n + 1) * (n - 2)) + odd_g * odd_h / (
        (n + 1) * n * (n - 1) * (n - 2) * (n - 3)
    )
    if variance <= 1e-12 * mean**2:
        return mean, 0.0, 0.0
    third = third_moment(g, h, float(n))
    return mean, variance, (third - 3 * mean * variance - mean**3) / variance**1.5


def third_moment(g: Sums, h: Sums, n: float) -> float:
    """E of the cube (Kazi-Aoual et al. 1995, theorem 3)."""

    def both(a_g: float, b_h: float, b_g: float, a_h: float) -> float:
        return a_g * b_h + b_g * a_h

    gTS, hTS = g.T * g.S2, h.T * h.S2
    gTT, hTT = g.T * g.T2, h.T * h.T2
    gT3, hT3 = g.T**3, h.T**3
    total = n**2 * (n + 1) * (n**2 + 15 * n - 4) * g.S3 * h.S3
    total += 4 * (n**4 - 8 * n**3 + 19 * n**2 - 4 * n - 16) * g.U * h.U
    total += 24 * (n**2 - n - 4) * both(g.U, h.B, g.B, h.U)
    total += 6 * (n**4 - 8 * n**3 + 21 * n**2 - 6 * n - 24) * g.B * h.B
    total += 12 * (n**4 - n**3 - 8 * n**2 + 36 * n - 48) * g.R * h.R
    total += 12 * (n**3 - 2 * n**2 + 9 * n - 12) * both(gTS, h.R, g.R, hTS)
    total += 3 * (n**4 - 4 * n**3 - 2 * n**2 + 9 * n - 12) * gTS * hTS
    total += 24 * (n**3 - 3 * n**2 - 2 * n + 8) * both(g.R, h.U, g.U, h.R)
    total += 24 * (n**3 - 2 * n**2 - 3 * n + 12) * both(g.R, h.B, g.B, h.R)
    total += 12 * (n**2 - n + 4) * both(gTS, h.U, g.U, hTS)
    total += 6 * (2 * n**3 - 7 * n**2 - 3 * n + 12) * both(gTS, h.B, g.B, hTS)
    total -= 2 * n * (n - 1) * (n**2 - n + 4) * both(2 * g.U + 3 * g.B, h.S3, g.S3, 2 * h.U + 3 * h.B)
    total -= 3 * n * (n - 1) ** 2 * (n + 4) * both(gTS + 4 * g.R, h.S3, g.S3, hTS + 4 * h.R)
    total += 2 * n * (n - 1) * (n - 2) * both(gT3 + 6 * gTT + 8 * g.T3, h.S3, g.S3, hT3 + 6 * hTT + 8 * h.T3)
    total += gT3 * ((n**3 - 9 * n**2 + 23 * n - 14) * hT3 + 6 * (n - 4) * hTT + 8 * h.T3)
    total += 6 * gTT * ((n - 4) * hT3 + (n**3 - 9 * n**2 + 24 * n - 14) * hTT + 4 * (n - 3) * h.T3)
    total += 8 * g.T3 * (hT3 + 3 * (n - 3) * hTT + (n**3 - 9 * n**2 + 26 * n - 22) * h.T3)
    total -= 16 * both(gT3, h.U, g.U, hT3) + 6 * (2 * n**2 - 10 * n + 16) * both(gTT, h.U, g.U, hTT)
    total -= 8 * (3 * n**2 - 15 * n + 16) * both(g.T3, h.U, g.U, h.T3)
    total -= (6 * n**2 - 30 * n + 24) * both(gT3, h.B, g.B, hT3)
    total -= 6 * (4 * n**2 - 20 * n + 24) * both(gTT, h.B, g.B, hTT)
    total -= 8 * (3 * n**2 - 15 * n + 24) * both(g.T3, h.B, g.B, h.T3)
    rest = 24 * both(gT3, h.R, g.R, hT3) + 6 * (2 * n**2 - 10 * n + 24) * both(gTT, h.R, g.R, hTT)
    rest += 8 * (3 * n**2 - 15 * n + 24) * both(g.T3, h.R, g.R, h.T3)
    rest += (3 * n**2 - 15 * n + 6) * both(gT3, hTS, gTS, hT3)
    rest += 6 * (n**2 - 5 * n + 6) * both(gTT, hTS, gTS, hTT)
    rest += 48 * both(g.T3, hTS, gTS, h.T3)
    total -= (n - 2) * rest
    return total / (n * (n - 1) * (n - 2) * (n - 3) * (n - 4) * (n - 5))


def tail(z: np.ndarray | float, skewness: np.ndarray | float) -> np.ndarray:
    """P(Z ≥ z) of Pearson III: mean 0, variance 1 and this skewness."""
    from scipy.special import gammainc, gammaincc, ndtr

    z, skewness = np.asarray(z, float), np.asarray(skewness, float)
    skew = np.where(np.abs(skewness) < 1e-4, 1.0, skewness)
    shape = 4 / skew**2
    x = np.maximum(shape + z * np.sqrt(shape) * np.sign(skew), 0)
    p = np.where(skew > 0, gammaincc(shape, x), gammainc(shape, x))
    return np.where(np.abs(skewness) < 1e-4, ndtr(-z), p)


def fatter(z: float, lam_r: np.ndarray, m: int) -> float:
    """By how much the tail of Σ λ_j χ²(m) beyond z is above that of the Pearson III with its moments; at least 1.

    This is what the permutation distribution tends to with many documents, λ the eigenvalues of G. A few directions
    with most of the noise make a tail that three moments do not see. By the saddle point (Kuonen 1999).
    """
    from scipy.special import ndtr

    lam_r = lam_r[lam_r > 1e-9 * lam_r.max()]
    spread = (2 * m * np.square(lam_r).sum()) ** 0.5
    q = m * lam_r.sum() + z * spread
    low, high = 0.0, (1 - 1e-12) / (2 * lam_r.max())
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if (m * lam_r / (1 - 2 * middle * lam_r)).sum() < q else (low, middle)
    w = (2 * (low * q + m / 2 * np.log1p(-2 * low * lam_r).sum())) ** 0.5
    v = low * (2 * m * np.square(lam_r / (1 - 2 * low * lam_r)).sum()) ** 0.5
    skewness = 8 * m * (lam_r**3).sum() / spread**3
    return max(float(ndtr(-(w + np.log(v / w) / w)) / max(tail(z, skewness), 1e-300)), 1.0)


def discoveries(p_W: np.ndarray) -> np.ndarray:
    """q: the smallest false discovery rate at which a word is found (Benjamini and Hochberg 1995)."""
    W = len(p_W)
    order = np.argsort(p_W)
    scaled = p_W[order] * W / np.arange(1, W + 1)
    q_W = np.empty(W)
    q_W[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1)
    return q_W


def noise_along(
    effect_W: np.ndarray, linear_W: np.ndarray, anywhere_W: np.ndarray, square_W: np.ndarray, sure_W: np.ndarray
) -> np.ndarray:
    """κ: noise in the direction in which a word moved, `linear` / θ.

    Where θ is small the direction is not known. There κ is that of any direction, raised by as much as the directions
    of the `sure` words are noisier than any: subjects are at once what words differ in and what documents differ in.
    """
    more = 1.0
    if sure_W.sum() >= 5:
        more = float(np.clip(linear_W[sure_W].sum() / (effect_W * anywhere_W)[sure_W].sum(), 1, 5))
    small_W = np.sqrt(2 * square_W)
    theta_W = np.maximum(effect_W, 0)
    return (np.maximum(linear_W, 0) + small_W * more * anywhere_W) / np.maximum(theta_W + small_W, 1e-30)


def interval(effect_W: np.ndarray, along_W: np.ndarray, square_W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """95 % interval of θ, at least 0: all θ under which the estimate would be in the middle 95 %.

    The estimate is taken for κ χ²(ν, θ/κ) − κν, which has its mean θ and its variance 2 `square` + 4 κθ: κ is `along`,
    ν = square / κ². Near θ = 0 it is as skewed as the truth.
    """
    kappa_W = np.maximum(along_W, 1e-30)
    nu_W = np.maximum(square_W / kappa_W**2, 1e-3)
    x_W = np.maximum(effect_W / kappa_W + nu_W, 0)
    low_W = kappa_W * _noncentrality(x_W, nu_W, 0.975)
    return low_W, np.maximum(kappa_W * _noncentrality(x_W, nu_W, 0.025), low_W)


def _noncentrality(x_W: np.ndarray, nu_W: np.ndarray, p: float) -> np.ndarray:
    """The λ ≥ 0 with P(χ²(ν, λ) ≤ x) = p, by bisection; 0 if there is none."""
    from scipy.special import chndtr

    low_W, high_W = np.zeros_like(x_W), 2 * x_W + 40 + 8 * np.sqrt(nu_W + x_W)
    for _ in range(50):
        middle_W = (low_W + high_W) / 2
        above_W = chndtr(x_W, nu_W, middle_W) > p
        low_W, high_W = np.where(above_W, middle_W, low_W), np.where(above_W, high_W, middle_W)
    return low_W
