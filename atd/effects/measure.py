"""How far apart two uses of a word are: a measure fitted to all words at once, blind to what will be compared.

    e_c = (y_c − Γᵀ z_c) P

Γ takes out what the subject of a document explains, one matrix for all words. P whitens: the noise of a document,
pooled over words, becomes the same in all directions. Then P stretches directions in which words differ from one
another, by λ^¼ for the variance λ between words: a change of use is to be expected there. Lengths are scaled so that 1
is the typical squared distance between two words.

V vocabulary, r dims, c cells, n documents, W words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from atd.effects.company import Cells, Company, cells_of

SAMPLE = 500_000  # words of the documents that the measure is fitted to
MOST = 100  # documents of one word among them
SHRINK = 0.05  # of the noise covariance, towards equal noise in all directions
STRETCH = 0.25  # the power of λ


@dataclass(frozen=True)
class Measure:
    table_Vr: np.ndarray  # of `table_of`
    gamma_rr: np.ndarray
    P_rr: np.ndarray
    steady: float  # the share of a document's variance that more occurrences do not lower

    def residuals(self, y_cr: np.ndarray, z_cr: np.ndarray) -> np.ndarray:
        return (y_cr - z_cr @ self.gamma_rr) @ self.P_rr

    def weights(self, times_n: np.ndarray) -> np.ndarray:
        """One over the variance of the mean of so many occurrences, 1 for a single one."""
        return 1 / (self.steady + (1 - self.steady) / times_n)


def fit_measure(
    company: Company, keep_T: np.ndarray, documents: int, *, subject: bool = True, seed: int = 0
) -> Measure:
    """Fit Γ, P and the weights of documents to a sample of them. `subject` says whether Γ is wanted."""
    cells = _sample(company, keep_T, documents, np.random.default_rng(seed))
    y_cr, z_cr, has_c = company.means(cells, 0, len(cells))
    y_cr, z_cr = (a[has_c].astype(np.float64) for a in (y_cr, z_cr))
    _, word_c, n_W = np.unique(cells.word_c[has_c], return_inverse=True, return_counts=True)
    gamma_rr = _subject(_centred(y_cr, word_c, n_W), _centred(z_cr, word_c, n_W)) * subject
    y_cr -= z_cr @ gamma_rr
    e_cr = _centred(y_cr, word_c, n_W)
    P_rr = _stretched(_whitening(e_cr, len(n_W)), _sums(y_cr, word_c, len(n_W)) / n_W[:, None], n_W)
    size_c = np.square(e_cr @ P_rr).sum(1) / (1 - 1 / np.maximum(n_W, 2))[word_c]
    slope, level = np.polyfit(1 / cells.times_c[has_c], size_c, 1) if np.ptp(cells.times_c) else (1.0, 0.0)
    steady = float(np.clip(level / max(level + slope, 1e-12), 0, 1))
    return Measure(company.table_Vr, gamma_rr.astype(np.float32), P_rr.astype(np.float32), steady)


def _subject(y_cr: np.ndarray, z_cr: np.ndarray) -> np.ndarray:
    """Γ: company regressed on the rest of the document, with a little ridge."""
    r = y_cr.shape[1]
    gram_rr = z_cr.T @ z_cr
    ridge = 1e-3 * np.trace(gram_rr) / r + 1e-12
    return np.linalg.solve(gram_rr + ridge * np.eye(r), z_cr.T @ y_cr)


def _whitening(e_cr: np.ndarray, words: int) -> np.ndarray:
    r = e_cr.shape[1]
    noise_rr = e_cr.T @ e_cr / max(len(e_cr) - words, 1)
    noise_rr = (1 - SHRINK) * noise_rr + SHRINK * np.trace(noise_rr) / r * np.eye(r)
    value_r, vector_rr = np.linalg.eigh(noise_rr)
    return vector_rr / np.sqrt(np.maximum(value_r, 1e-12))


def _stretched(whiten_rr: np.ndarray, means_Wr: np.ndarray, n_W: np.ndarray) -> np.ndarray:
    """P: whitened, turned to the axes in which words differ, stretched and scaled. Without differences, whitened."""
    often_W = n_W >= min(5, n_W.max())
    means_Wr = (means_Wr[often_W] - means_Wr[often_W].mean(0)) @ whiten_rr
    between_rr = means_Wr.T @ means_Wr / len(means_Wr) - np.mean(1 / n_W[often_W]) * np.eye(len(whiten_rr))
    lam_r, turn_rr = np.linalg.eigh(between_rr)
    lam_r = np.maximum(lam_r, 0)
    if lam_r.sum() == 0:
        return whiten_rr
    return (whiten_rr @ turn_rr) * lam_r**STRETCH / np.sqrt(2 * (lam_r ** (1 + 2 * STRETCH)).sum())


def _sample(company: Company, keep_T: np.ndarray, documents: int, random: np.random.Generator) -> Cells:
    """Cells of some documents: at most MOST of a word, none of words in one document only."""
    order_n = random.permutation(documents)
    length_n = np.bincount(company.owner_T, minlength=documents)
    chosen_n = np.zeros(documents, bool)
    chosen_n[order_n[: np.searchsorted(np.cumsum(length_n[order_n]), SAMPLE) + 1]] = True
    cells = cells_of(company.tokens_T, company.owner_T, keep_T & chosen_n[company.owner_T], documents)
    _, first_W = cells.words()
    n_W = np.diff(first_W)
    mixed_c = np.lexsort([random.random(len(cells)), cells.word_c])
    rank_c = np.empty(len(cells), np.int64)
    rank_c[mixed_c] = np.arange(len(cells)) - np.repeat(first_W[:-1], n_W)
    return cells.take((rank_c < MOST) & (np.repeat(n_W, n_W) > 1))


def _sums(a_cr: np.ndarray, word_c: np.ndarray, W: int) -> np.ndarray:
    """Sums of the rows of each word, which lie together."""
    return np.add.reduceat(a_cr, np.searchsorted(word_c, np.arange(W)), axis=0)


def _centred(a_cr: np.ndarray, word_c: np.ndarray, n_W: np.ndarray) -> np.ndarray:
    return a_cr - (_sums(a_cr, word_c, len(n_W)) / n_W[:, None])[word_c]
