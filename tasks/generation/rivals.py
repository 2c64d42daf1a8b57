"""The writers that only count: n-grams of a book alone, of all books, and of both mixed.

B samples, N words of context, S = CONTEXT + words of a sample, A books, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from atd.encoded import EncodedCorpus
from atd.ngram import KneserNey, write
from atd.ngram_mixture import AttributeKneserNey
from atd.vocabulary import BOS_ID
from tasks.generation.judge import CONTEXT, ORDER
from tasks.generation.writer import BURN_IN, FORBID
from tasks.learning.evaluation import examples

Sampler = Callable[[np.ndarray, float], np.ndarray]  # (the book of every sample B, temperature) -> ids B×S
Distributions = Callable[[np.ndarray, np.ndarray], np.ndarray]  # (contexts B×N, books B) -> p B×V

MEANING = {
    "atd": "the model under the vector of the book",
    "own-unigrams": "words drawn as often as the book has them, in no order",
    "own-bigrams": "Kneser–Ney bigrams of the book alone",
    "own-kneser-ney": "Kneser–Ney 5-grams of the book alone",
    "kneser-ney-attributes": "5-grams of all books, mixed with those of the book",
    "kneser-ney": "5-grams of all books: no book is asked for",
}


def rivals(V: int, A: int, train: EncodedCorpus, val: EncodedCorpus, words: int, seed: int) -> dict[str, Sampler]:
    """The writers by the names of their rows; they learn from what the model has learned from."""
    text = examples(train, ORDER)
    mixed = AttributeKneserNey(V, A, ORDER).fit(*text).tune(*examples(val, ORDER))
    models: dict[str, Distributions] = {
        "own-unigrams": KneserNey(V, 1).fit(*text, A).distributions,
        "own-bigrams": KneserNey(V, 2).fit(*text, A).distributions,
        "own-kneser-ney": mixed.own[0].distributions,
        "kneser-ney-attributes": mixed.distributions,
        "kneser-ney": lambda context_BN, book_B: mixed.all.distributions(context_BN),
    }
    return {name: sampler(distributions, words, seed) for name, distributions in models.items()}


def sampler(distributions: Distributions, words: int, seed: int) -> Sampler:
    """Samples that begin where a text begins; of its first words only those before a sample are kept."""

    def sample(book_B: np.ndarray, temperature: float) -> np.ndarray:
        start = np.full((len(book_B), CONTEXT), BOS_ID)
        generator = np.random.default_rng(seed)

        def of_rows(context_BN: np.ndarray, rows: np.ndarray) -> np.ndarray:
            return distributions(context_BN, book_B[rows])

        return write(of_rows, start, BURN_IN + words, generator, temperature, FORBID)[:, BURN_IN - CONTEXT :]

    return sample


class Copies:
    """Knows every run of ORDER words in the training text."""

    def __init__(self, train: EncodedCorpus):
        context, target, _ = examples(train, ORDER)
        self.known = np.unique(hashed(np.concatenate([context, target[:, None]], axis=1)))

    def share(self, ids_nS: np.ndarray) -> float:
        """The part of words that end a run which stands in the training text."""
        return float(np.isin(hashed(sliding_window_view(ids_nS, ORDER, axis=1)), self.known).mean())


def hashed(ids: np.ndarray) -> np.ndarray:
    """One number for each row of ids; two rows share one with a chance of 2⁻⁶⁴."""
    out = np.zeros(ids.shape[:-1], dtype=np.uint64)
    for column in np.moveaxis(ids, -1, 0):
        out = (out ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        out ^= out >> np.uint64(29)
    return out
