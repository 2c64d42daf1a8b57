"""A judge who has read other chapters than the writers: whose style a text has, and whether its words stand in order.

The judge is two models of the held-out text of all books that know the book: Kneser–Ney 5-grams P₅, which see four
words back, and single words P₁. Of a piece of text

- the book that it is taken for is the one under which P₅ finds it likeliest;
- its fluency is how much the order of the words helps to guess them: log P₅ − log P₁ per word, both averaged over the
  books (known as SLOR: Pauls & Klein 2012; Lau, Clark & Lappin 2017). A bag of words has none, however well its words
  are chosen, and dull words, which a low temperature gives, have none either: P₁ expects them too.

n pieces, T words of a piece, S = CONTEXT + T, A books, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.special import logsumexp

from atd.encoded import EncodedCorpus
from atd.ngram_mixture import AttributeKneserNey
from atd.vocabulary import UNK_ID
from tasks.learning.evaluation import examples

ORDER = 5
CONTEXT = ORDER - 1  # words that stand before a piece


@dataclass
class Reading:
    """What a judge makes of pieces of text. Unknown words are not counted."""

    ordered_nA: np.ndarray  # log P₅(piece | book)
    bag_nA: np.ndarray  # log P₁(piece | book)
    words_n: np.ndarray

    @property
    def taken_for(self) -> np.ndarray:
        """The book under which each piece is likeliest (n)."""
        return self.ordered_nA.argmax(1)

    @property
    def log_share(self) -> np.ndarray:
        """log P(book | piece), all books equally likely before (n×A)."""
        return self.ordered_nA - logsumexp(self.ordered_nA, axis=1, keepdims=True)

    @property
    def fluency(self) -> float:
        """Nats per word that the order of the words saves."""
        ordered_n, bag_n = (logsumexp(log_nA, axis=1) for log_nA in (self.ordered_nA, self.bag_nA))
        return float((ordered_n - bag_n).sum() / max(self.words_n.sum(), 1))


class Judge:
    """Reads the validation and the test part, one attribute per text."""

    def __init__(self, V: int, A: int, val: EncodedCorpus, test: EncodedCorpus):
        self.ordered = model_of(V, A, ORDER, val, test)
        self.bag = model_of(V, A, 1, val, test)

    def read(self, ids_nS: np.ndarray) -> Reading:
        """Judge the words after the first CONTEXT of each piece."""
        known_nT = ids_nS[:, CONTEXT:] != UNK_ID
        return Reading(under_books(self.ordered, ids_nS), under_books(self.bag, ids_nS), known_nT.sum(1))


def model_of(V: int, A: int, order: int, val: EncodedCorpus, test: EncodedCorpus) -> AttributeKneserNey:
    """n-grams of both parts, their shares of all text and of the book's own found with one held out from the other."""
    parts = examples(test, order), examples(val, order)
    model = AttributeKneserNey(V, A, order).fit(*parts[0]).tune(*parts[1])
    share_MA = model.share_MA
    model.fit(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    model.share_MA = share_MA
    return model


def under_books(model: AttributeKneserNey, ids_nS: np.ndarray) -> np.ndarray:
    """log P(piece | book) (n×A)."""
    n, T = len(ids_nS), ids_nS.shape[1] - CONTEXT
    order = model.all.order
    windows = sliding_window_view(ids_nS, order, axis=1)[:, -T:].reshape(n * T, order)
    target = windows[:, -1]
    log_p = model.under_every(windows[:, :-1], target) * (target != UNK_ID)[:, None]
    return log_p.reshape(n, T, -1).sum(1)


def pieces(texts: EncodedCorpus, words: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """At most `most` pieces of real text of every book, spread over it: (ids n×S, books n)."""
    at = beginnings(texts, words)
    at = at[evenly(texts.attributes[texts.owner[at]], most)]
    ids = np.concatenate([texts.windows(CONTEXT, at), texts.tokens[at[:, None] + np.arange(words)]], axis=1)
    return ids.astype(np.int64), texts.attributes[texts.owner[at]]


def beginnings(texts: EncodedCorpus, words: int) -> np.ndarray:
    """Where in the tokens of all texts so many words of one text begin."""
    return np.flatnonzero(texts.offsets[texts.owner + 1] - np.arange(len(texts.tokens)) >= words)


def evenly(label: np.ndarray, most: int) -> np.ndarray:
    """Places of at most `most` of each label, spread evenly over all of its own."""
    chosen = [np.zeros(0, dtype=np.int64)]
    for a in np.unique(label):
        where = np.flatnonzero(label == a)
        chosen.append(where[np.linspace(0, len(where) - 1, min(most, len(where))).astype(int)])
    return np.sort(np.concatenate(chosen))


def confusion(label_n: np.ndarray, predicted_n: np.ndarray, A: int) -> np.ndarray:
    """Per cent of each label's pieces (rows) attributed to each label (columns)."""
    table = np.zeros((A, A))
    np.add.at(table, (label_n, predicted_n), 1.0)
    return 100 * table / np.maximum(table.sum(1, keepdims=True), 1)
