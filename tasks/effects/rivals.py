"""Other ways to say which words changed: à la carte regression, aligned spaces, a compass.

Each gives a score per word, higher for more change. V vocabulary, K word dim, T words of all texts, n documents.
"""

from __future__ import annotations

import logging

import numpy as np

from atd.embedding_regression import occurrences, regress
from atd.ragged import Ragged


def count_vectors(texts: Ragged, V: int, K: int, reach: int = 5) -> np.ndarray:
    """Vectors by counting: singular vectors of the positive pointwise mutual information (V×K)."""
    from scipy.sparse.linalg import svds

    left, size, _ = svds(_ppmi(texts, V, reach).astype(np.float64), K, rng=np.random.default_rng(0))
    return left * np.sqrt(size)


def regression(
    texts: Ragged,
    values_n: np.ndarray,
    vectors_VK: np.ndarray,
    words: np.ndarray,
    permutations: int,
    reach: int = 5,
    documents: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """conText: (p, debiased length of the coefficient, its length over that of noise alone) of each word.

    Occurrences are permuted, as R's conText does it; with `documents` their means over documents are.
    """
    has_V = (vectors_VK != 0).any(1)
    A_KK = _transform(texts, vectors_VK, has_V, reach)
    owner_T = texts.owner
    out = []
    for word in words:
        mean_nK, text_n = occurrences(texts.tokens, owner_T, int(word), vectors_VK, has_V, reach)
        if documents:
            mean_nK, text_n = _by_document(mean_nK, text_n)
        X_n2 = np.column_stack([np.ones(len(text_n)), values_n[text_n]])
        found = regress(mean_nK @ A_KK.T, X_n2, permutations)
        noise = found.norm_k[1] - found.debiased_k[1]
        out.append((found.p_k[1], found.debiased_k[1], found.norm_k[1] / max(noise, 1e-12)))
    p_W, length_W, ratio_W = np.array(out).T
    return p_W, length_W, ratio_W


def beyond_frequency(score_W: np.ndarray, count_W: np.ndarray, near: int = 50) -> np.ndarray:
    """How far a score is above those of words about as frequent: rare words seem to move more."""
    order = np.argsort(count_W, kind="stable")
    out = np.empty(len(score_W))
    for rank, word in enumerate(order):
        low = int(np.clip(rank - near // 2, 0, max(len(order) - near, 0)))
        others = score_W[order[low : low + near]]
        middle = np.median(others)
        out[word] = (score_W[word] - middle) / max(np.median(np.abs(others - middle)), 1e-12)
    return out


def procrustes(texts: Ragged, values_n: np.ndarray, V: int, K: int, words: np.ndarray, reach: int = 5) -> np.ndarray:
    """Vectors of each value by themselves, turned onto one another; 1 − cosine of a word's two vectors."""
    one_VK, two_VK = (count_vectors(texts.take(np.flatnonzero(values_n == v)), V, K, reach) for v in (0, 1))
    one_VK, two_VK = (x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12) for x in (one_VK, two_VK))
    left, _, right = np.linalg.svd(two_VK.T @ one_VK)
    return 1 - ((two_VK @ left @ right) * one_VK).sum(1)[words]


def compass(
    texts: Ragged, values_n: np.ndarray, V: int, K: int, words: np.ndarray, seed: int, epochs: int, reach: int = 5
) -> np.ndarray:
    """Word2Vec on all texts, then on those of each value with the output vectors held (CADE); 1 − cosine of the two."""
    from gensim.models import Word2Vec

    logging.getLogger("gensim").setLevel(logging.ERROR)  # would tell of every epoch

    lines = [[str(word) for word in texts[i]] for i in range(len(texts))]
    settings = {"vector_size": K, "window": reach, "min_count": 1, "sg": 1, "negative": 5, "workers": 1, "seed": seed}
    start = Word2Vec(lines, epochs=epochs, **settings)
    weights, outputs = start.wv.vectors.copy(), start.syn1neg.copy()
    spaces = []
    for value in (0, 1):
        start.wv.vectors[:] = weights
        mine = [lines[i] for i in np.flatnonzero(values_n == value)]
        for epoch in range(epochs):
            for part in range(4):  # the output vectors hardly move between two resets
                start.syn1neg[:] = outputs
                rates = {"start_alpha": 0.025 * (1 - epoch / epochs), "end_alpha": 0.025 * (1 - epoch / epochs)}
                start.train(mine[part::4], total_examples=len(mine[part::4]), epochs=1, **rates)
        spaces.append(start.wv.vectors / np.linalg.norm(start.wv.vectors, axis=1, keepdims=True))
    row_W = [start.wv.key_to_index[str(word)] for word in words]
    return 1 - (spaces[0] * spaces[1]).sum(1)[row_W]


def _by_document(mean_nK: np.ndarray, text_n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    text_d, row_n, count_d = np.unique(text_n, return_inverse=True, return_counts=True)
    total_dK = np.zeros((len(text_d), mean_nK.shape[1]))
    np.add.at(total_dK, row_n, mean_nK)
    return total_dK / count_d[:, None], text_d


def _transform(texts: Ragged, vectors_VK: np.ndarray, has_V: np.ndarray, reach: int) -> np.ndarray:
    """A: takes the mean vector around a word to the word's own (Khodak et al. 2018), words weighted by log count."""
    V = len(vectors_VK)
    counts_VV = _counts(texts, V, reach)
    number_V = np.asarray(counts_VV @ has_V).ravel()
    u_VK = (counts_VV @ (vectors_VK * has_V[:, None])) / np.maximum(number_V, 1)[:, None]
    seen_V = np.bincount(texts.tokens, minlength=V)
    weight_V = np.sqrt(np.log(np.maximum(seen_V, 1))) * has_V * (number_V > 0)
    return np.linalg.lstsq(u_VK * weight_V[:, None], vectors_VK * weight_V[:, None], rcond=None)[0].T


def _counts(texts: Ragged, V: int, reach: int):
    """How often words are at most `reach` places apart in a text (V×V, sparse)."""
    from scipy.sparse import coo_matrix, csr_matrix

    total = csr_matrix((V, V), dtype=np.float32)
    owner_T = texts.owner
    for step in range(1, reach + 1):
        same = owner_T[:-step] == owner_T[step:]
        a, b = texts.tokens[:-step][same], texts.tokens[step:][same]
        total = total + coo_matrix((np.ones(len(a), np.float32), (a, b)), shape=(V, V)).tocsr()
    return total + total.T


def _ppmi(texts: Ragged, V: int, reach: int):
    from scipy.sparse import csr_matrix

    counts = _counts(texts, V, reach).tocoo()
    of_V = np.bincount(counts.row, counts.data, V)
    context_V = of_V**0.75 / (of_V**0.75).sum()
    value = np.log(counts.data / (of_V[counts.row] * context_V[counts.col]))
    more = value > 0
    return csr_matrix((value[more], (counts.row[more], counts.col[more])), shape=(V, V))
