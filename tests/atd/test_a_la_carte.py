"""Vectors from the company of words, against NumPy's least squares and against means taken by hand."""

from __future__ import annotations

import numpy as np
import torch

from atd.a_la_carte import induce

V, K = 30, 4


def texts() -> tuple[list[list[int]], np.ndarray, np.ndarray]:
    """Texts in which some words come far more often than others; vectors; and which words have one.

    The last word neither has a vector nor ever comes.
    """
    rng = np.random.default_rng(0)
    share = 1 / np.arange(1, V) ** 1.5
    words = [rng.choice(V - 1, size=rng.integers(1, 9), p=share / share.sum()).tolist() for _ in range(60)]
    has = rng.random(V) < 0.7
    has[-1] = False
    return words, rng.normal(size=(V, K)).astype(np.float32), has


def company(words: list[list[int]], vectors: np.ndarray, has: np.ndarray, reach: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean vector of the known neighbours of every word, and their number, one neighbour at a time."""
    total, count = np.zeros((V, K)), np.zeros(V)
    for text in words:
        for i, word in enumerate(text):
            for j in range(max(0, i - reach), min(len(text), i + reach + 1)):
                if j != i and has[text[j]]:
                    total[word] += vectors[text[j]]
                    count[word] += 1
    return total / np.maximum(count, 1)[:, None], count


def induced(words: list[list[int]], vectors: np.ndarray, has: np.ndarray, reach: int) -> np.ndarray:
    tokens = torch.tensor([word for text in words for word in text])
    offsets = torch.tensor([0, *np.cumsum([len(text) for text in words])])
    return induce(torch.from_numpy(vectors), torch.from_numpy(has), tokens, offsets, reach).numpy()


def test_missing_words_get_the_weighted_least_squares_map_of_their_company():
    words, vectors, has = texts()
    for reach in (1, 4):
        mean, count = company(words, vectors, has, reach)
        fit, lacks = has & (count > 0), ~has & (count > 0)
        assert fit.sum() > 2 * K and lacks.sum() > 3

        def mapped(weight, mean=mean, fit=fit, lacks=lacks):
            root = np.sqrt(weight)[:, None]
            return mean[lacks] @ np.linalg.lstsq(root * mean[fit], root * vectors[fit], rcond=None)[0]

        ours = induced(words, vectors, has, reach)
        weighted, unweighted = mapped(np.log(1 + count[fit])), mapped(np.ones(fit.sum()))
        np.testing.assert_allclose(ours[lacks], weighted, atol=1e-4)
        assert np.abs(weighted - unweighted).max() > 0.05  # the weights are not nothing
        np.testing.assert_array_equal(ours[~lacks], vectors[~lacks])  # known words, and those never seen, stay
