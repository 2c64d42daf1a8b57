"""Controls: the simplest things that could have produced a row's numbers, judged by the same measures.

n texts, K columns, V words of a language.

    lexicon   a word stands for those it shares sentence pairs with (lexicon.py); counted, not learned
    lsi       truncated SVD of the aligned training sentences, each pair as one text; either side is folded in alone
    spelling  character n-grams that the languages happen to share; no aligned text at all
    ceiling   topics learned, by tf-idf of words, from documents of the language they are judged in
    majority  the commonest topic
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from datamodules.multilingual import read_parts
from datamodules.readers.topics import read_topics
from tasks.crosslingual.lexicon import Lexicon
from tasks.crosslingual.spaces import Space, WordSpace, idf, tfidf

if TYPE_CHECKING:
    import pyarrow as pa
    from sklearn.feature_extraction.text import TfidfVectorizer

    from atd.ragged import Ragged
    from datamodules.europarl_rcv import EuroparlRCV

COMPONENTS = 400  # of the SVD
GRAMS = (3, 4)  # characters
LINES = 20_000  # training lines of a language that the idf of n-grams is counted on


class LSI(WordSpace):
    """Cross-language latent semantic indexing: a text is its tf-idf times the singular vectors of its language."""

    def __init__(self, data: EuroparlRCV):
        from sklearn.decomposition import TruncatedSVD

        super().__init__(data)
        self.idf = list(idf(data).values())
        texts = self.training()
        svd = TruncatedSVD(min(COMPONENTS, *(n - 1 for n in texts.shape)), algorithm="arpack", tol=0.01, random_state=0)
        bounds = np.cumsum([len(v) for v in data.vocabularies])[:-1]
        self.singular = np.split(svd.fit(texts).components_.T, bounds)  # V_l×K of every language

    def training(self) -> sparse.csr_array:
        """A row for every pair of training sentences, a column for every word of every language."""
        rows = []
        for pairs in self.data.training():
            blocks = [sparse.csr_array((len(pairs), len(v))) for v in self.data.vocabularies]
            for language, side in zip(pairs.languages, (pairs.source, pairs.target), strict=True):
                blocks[language] = tfidf(side, self.idf[language])
            rows.append(sparse.hstack(blocks))
        return sparse.vstack(rows, "csr")

    def vectors(self, texts: Ragged, language: int, weighting: str) -> np.ndarray:
        from sklearn.preprocessing import normalize

        return normalize(tfidf(texts, self.idf[language]) @ self.singular[language])

    def similarity(self, words_Q: Sequence[int]) -> np.ndarray:
        from sklearn.preprocessing import normalize

        source, target = (normalize(self.singular[language]) for language in (0, 1))
        return source[list(words_Q)] @ target.T


class Spelling(Space):
    """tf-idf of character n-grams within words, of the text as it was written, whatever its language."""

    @cached_property
    def grams(self) -> TfidfVectorizer:
        """idf is counted on training lines of both languages; which of them belong together is not looked at."""
        lines = self.parts["train"].slice(0, LINES)
        return vectorizer(analyzer="char_wb", ngram_range=GRAMS).fit([*texts(lines["source"]), *texts(lines["target"])])

    @cached_property
    def parts(self) -> dict[str, pa.Table]:
        pair = self.data.pairs[0]
        return read_parts(self.data.path, pair, self.data.limit.get(pair), self.data.holdout)

    def documents(self, source: str, language: str, split: str, weighting: str) -> tuple[sparse.csr_array, np.ndarray]:
        table = read_topics(self.data.path, source, language, split)
        return sparse.csr_array(self.grams.transform(texts(table["text"]))), np.array(texts(table["category"]))

    def lines(self, pair: str, part: str) -> tuple[sparse.csr_array, sparse.csr_array]:
        source, target = (self.grams.transform(texts(self.parts[part][side])) for side in ("source", "target"))
        return sparse.csr_array(source), sparse.csr_array(target)

    def similarity(self, words_Q: Sequence[int]) -> np.ndarray:
        source, target = self.data.vocabularies[:2]
        asked = self.grams.transform([source.words[i] for i in words_Q])
        return (asked @ self.grams.transform(target.words).T).toarray()


class Ceiling(Space):
    """tf-idf of words, a language at a time."""

    def taught(self, learned: str, judged: str) -> str:
        return judged

    def documents(self, source: str, language: str, split: str, weighting: str) -> tuple[sparse.csr_array, np.ndarray]:
        table = read_topics(self.data.path, source, language, split)
        words = vectorizer().fit(texts(read_topics(self.data.path, source, language, "train")["text"]))
        return sparse.csr_array(words.transform(texts(table["text"]))), np.array(texts(table["category"]))


class Majority(Ceiling):
    """Whatever the words are, the topic that most training documents have."""

    classifiers = ("majority",)


CONTROLS: dict[str, type[Space]] = {
    "lexicon": Lexicon,
    "lsi": LSI,
    "spelling": Spelling,
    "ceiling": Ceiling,
    "majority": Majority,
}


def vectorizer(**options: object) -> TfidfVectorizer:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(sublinear_tf=True, **options)


def texts(column: pa.ChunkedArray) -> list[str]:
    return ["" if text is None else text for text in column.to_pylist()]
