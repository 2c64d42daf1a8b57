"""Words that translate each other, counted from aligned sentences, and sentences translated word by word with them.

V words of a language. The Dice coefficient of a word and one of the other language is 2·both / (one + other), where
both, one and other are numbers of sentence pairs that have both words, the one, and the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from atd.vocabulary import SPECIALS
from tasks.crosslingual.spaces import WordSpace, idf, presence, tfidf

if TYPE_CHECKING:
    from atd.ragged import Ragged
    from datamodules.europarl_rcv import EuroparlRCV
    from datamodules.pairs import Pairs

TRANSLATIONS = 10  # of a word
LEAST = 0.01  # Dice coefficient of a translation


class Lexicon(WordSpace):
    """A word stands for the words of the first language with the highest Dice coefficients; texts are their tf-idf.

    Nothing is learned: words are counted. A text keeps its own tf-idf, each word of which goes to its translations by
    shares that add up to 1.
    """

    def __init__(self, data: EuroparlRCV):
        super().__init__(data)
        self.idf = list(idf(data).values())
        self.pairs = {pairs.languages[1]: pairs for pairs in data.training()}
        self.dice = cache(self._dice)

    def _dice(self, language: int) -> sparse.csr_array:
        """Of the words of the first language and of another."""
        sizes = (len(self.data.vocabularies[i]) for i in (0, language))
        return strongest(dice(self.pairs[language], *sizes).T.tocsr(), TRANSLATIONS, LEAST)

    def vectors(self, texts: Ragged, language: int, weighting: str) -> sparse.csr_array:
        from sklearn.preprocessing import normalize

        own = tfidf(texts, self.idf[language])
        if language == 0:
            return own
        shares = normalize(self.dice(language), norm="l1")
        return sparse.csr_array(normalize(own @ shares))

    def similarity(self, words_Q: Sequence[int]) -> np.ndarray:
        return self.dice(1)[:, list(words_Q)].toarray().T


def dice(pairs: Pairs, V_source: int, V_target: int) -> sparse.csr_array:
    """The coefficients of all words that share a sentence pair (V_source×V_target); specials have none."""
    source, target = presence(pairs.source, V_source), presence(pairs.target, V_target)
    both = sparse.csr_array(source.T @ target)
    one, other = (np.bincount(side.indices, minlength=side.shape[1]) for side in (source, target))
    row = np.repeat(np.arange(V_source), np.diff(both.indptr))
    both.data = 2 * both.data / (one[row] + other[both.indices])
    both.data[(row < len(SPECIALS)) | (both.indices < len(SPECIALS))] = 0
    both.eliminate_zeros()
    return both


def strongest(table: sparse.csr_array, k: int, least: float) -> sparse.csr_array:
    """The k largest entries of every row, of those that are at least `least`."""
    row = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    large = np.flatnonzero(table.data >= least)
    order = large[np.lexsort((-table.data[large], row[large]))]
    begin = np.searchsorted(row[order], np.arange(table.shape[0]))
    kept = order[np.arange(len(order)) - begin[row[order]] < k]
    return sparse.csr_array((table.data[kept], (row[kept], table.indices[kept])), shape=table.shape)


def translations(table: sparse.csr_array, least: float) -> list[tuple[int, int]]:
    """Word pairs of which one can be sure: each the other's best, at `least` or more.

    And the other forms of the translation: words whose best is the same word, at half its score or more.
    """
    columns = table.tocsc()
    best_target = np.asarray(table.argmax(1)).ravel()
    best_source = np.asarray(columns.argmax(0)).ravel()
    score_source = np.asarray(table.max(1).todense()).ravel()
    score_target = np.asarray(columns.max(0).todense()).ravel()
    sure = (best_source[best_target] == np.arange(len(best_target))) & (score_source >= least)
    form = sure[best_source] & (score_target > 0) & (2 * score_target >= score_source[best_source])
    return [(int(best_source[j]), int(j)) for j in np.flatnonzero(form)]
