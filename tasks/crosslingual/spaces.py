"""Sentences of several languages in one space: what a row is judged by, be it a trained model or a control.

n texts, K columns, V words of a language, Q words asked for. Matrices have rows of unit norm, so a product is a cosine;
they are dense or sparse.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import torch
from scipy import sparse

from atd.neighbours import unit
from atd.vocabulary import SPECIALS

if TYPE_CHECKING:
    from atd.ragged import Ragged
    from atd.ranking import RankingModel
    from datamodules.europarl_rcv import EuroparlRCV

Matrix: TypeAlias = np.ndarray | sparse.csr_array
CLASSIFIERS: tuple[str, ...] = ("perceptron", "logistic")


class Space(ABC):
    """Documents with topics as vectors; and, where that makes sense, lines beside their translations and words."""

    weightings: tuple[str, ...] = ("tfidf",)  # of the words of a document
    classifiers = CLASSIFIERS

    def __init__(self, data: EuroparlRCV):
        self.data = data

    @abstractmethod
    def documents(self, source: str, language: str, split: str, weighting: str) -> tuple[Matrix, np.ndarray]:
        """The vectors of a split of a set (n×K) and their topics (n)."""

    def taught(self, learned: str, judged: str) -> str:
        """The language of the documents that a classifier is given when topics go from `learned` to `judged`."""
        return learned

    def lines(self, pair: str, part: str) -> tuple[Matrix, Matrix] | None:
        """The two sides of a part; None where lines of two languages cannot be compared."""
        return None

    def similarity(self, words_Q: Sequence[int]) -> np.ndarray | None:
        """How alike words of the first language and all of the second are (Q×V)."""
        return None


class WordSpace(Space):
    """A space of texts as the corpus has them: words, numbered within their language."""

    @abstractmethod
    def vectors(self, texts: Ragged, language: int, weighting: str) -> Matrix:
        """n×K."""

    def documents(self, source: str, language: str, split: str, weighting: str) -> tuple[Matrix, np.ndarray]:
        texts, labels = self.data.topics(source, language, split)
        return self.vectors(texts, self.data.languages.index(language), weighting), labels

    def lines(self, pair: str, part: str) -> tuple[Matrix, Matrix]:
        weighting = self.weightings[0]
        texts = self.data.target(pair, part)
        parts = [self.vectors(sentences, language, weighting) for language, _, sentences in texts]
        place = np.argsort(np.concatenate([rows for _, rows, _ in texts]))
        target = sparse.vstack(parts, "csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
        return self.vectors(self.data.source(pair, part), 0, weighting), target[place]


class ModelSpace(WordSpace):
    """The sentence vectors of a trained model: sums of conditioned word vectors at unit norm (the paper), or by idf."""

    weightings = ("sum", "idf")

    def __init__(self, model: RankingModel, data: EuroparlRCV):
        super().__init__(data)
        self.model = model
        self.idf = {data.languages.index(name): torch.from_numpy(weights) for name, weights in idf(data).items()}

    def vectors(self, texts: Ragged, language: int, weighting: str) -> np.ndarray:
        weight = self.idf[language] if weighting == "idf" else None
        return self.model.sentences(texts, language, weight).cpu().numpy()

    def similarity(self, words_Q: Sequence[int]) -> np.ndarray:
        source, target = (self.model.embeddings(language) for language in (0, 1))
        return (unit(source[torch.tensor(words_Q)]) @ unit(target).T).cpu().numpy()


def idf(data: EuroparlRCV) -> dict[str, np.ndarray]:
    """log(sentences / sentences with the word), counted on the training sentences of each language."""
    seen = {lang: np.zeros(len(v)) for lang, v in zip(data.languages, data.vocabularies, strict=True)}
    total = dict.fromkeys(data.languages, 0)
    for pairs in data.training():
        for language, side in zip(pairs.languages, (pairs.source, pairs.target), strict=True):
            name = data.languages[language]
            seen[name] += np.bincount(presence(side, len(seen[name])).indices, minlength=len(seen[name]))
            total[name] += len(side)
    return {lang: np.log(total[lang] / np.maximum(n, 1)).astype(np.float32) for lang, n in seen.items()}


def presence(texts: Ragged, V: int) -> sparse.csr_array:
    """1 where a text (row) has the word (column)."""
    ones = np.ones(len(texts.tokens), np.float32)
    table = sparse.csr_array((ones, texts.tokens.copy(), texts.offsets.copy()), shape=(len(texts), V))
    table.sum_duplicates()
    table.data[:] = 1
    return table


def tfidf(texts: Ragged, idf_V: np.ndarray) -> sparse.csr_array:
    """(1 + log tf) · idf at unit norm (n×V); unknown words, numbers and the like have no part in it."""
    from sklearn.preprocessing import normalize

    from tasks.learning.tfidf import count_table

    table = sparse.csr_array(count_table(texts, len(idf_V)))
    weight_V = np.where(np.arange(len(idf_V)) < len(SPECIALS), 0, idf_V)
    table.data = (1 + np.log(table.data)) * weight_V[table.indices]
    table.eliminate_zeros()
    return sparse.csr_array(normalize(table))
