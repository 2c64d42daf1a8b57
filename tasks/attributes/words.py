"""Words that set a value of a column apart from the other values, by the documents that they occur in.

Documents are counted, not uses: a word that one author repeats a hundred times in one text is not typical of a group.
The score is that of Monroe, Colaresi and Quinn (2008): the log odds of a word in the value's documents against those in
the rest, both drawn to all documents by a prior, in units of their standard error.

V vocabulary, n documents, P pairs of document and word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from atd.vocabulary import SPECIALS
from tasks.engine.result import Result
from tasks.engine.wording import listed

if TYPE_CHECKING:
    from atd.design import Design
    from atd.encoded import EncodedCorpus
    from datamodules.corpus import Corpus

VALUES = 12  # of a column that are shown: those with most text
WORDS = 12  # of each value
DOCUMENTS = 5  # of the value that a word must occur in
PRIOR = 500.0  # pairs of document and word that the prior counts for
CERTAIN = 3.0  # standard errors


def show_distinctive(result: Result, data: Corpus) -> None:
    """A table for every column."""
    train = data.encoded["train"]
    if train.per_token:
        return
    document_P, word_P = occurrences(train)
    V = len(data.vocabulary)
    total_V = np.bincount(word_P, minlength=V)
    for column, values in values_of(train, train.design):
        rows = []
        for value, has_n in values:
            own_V = np.bincount(word_P[has_n[document_P]], minlength=V)
            words = distinctive(own_V, total_V - own_V)
            rows.append(
                [
                    value.removeprefix(f"{column}="),
                    int(has_n.sum()),
                    listed(data.vocabulary.words[w] for w in words) or "none",
                ]
            )
        result.table(
            f"Distinctive words by {column}",
            [column, "documents", "words that more of its documents have than others"],
            rows,
            f"Its documents have the word more often than others, by {CERTAIN:g} standard errors or more; best first.",
        )


def occurrences(texts: EncodedCorpus) -> tuple[np.ndarray, np.ndarray]:
    """(document, word) of every pair that occurs, each once (P)."""
    V = int(texts.tokens.max()) + 1
    pair_P = np.unique(texts.owner.astype(np.int64) * V + texts.tokens)
    return pair_P // V, pair_P % V


def values_of(texts: EncodedCorpus, design: Design) -> Iterator[tuple[str, list[tuple[str, np.ndarray]]]]:
    """Of every column that has a term of its own: (its name, [(value, which documents have it (n))])."""
    ids_nM = texts.attributes.reshape(len(texts), -1)
    shares_nM = np.ones(ids_nM.shape) if texts.shares is None else texts.shares
    names = np.array(design.names, dtype=object)
    for t, term in enumerate(design.terms):
        if len(term) > 1 and len(design.terms) > 1:
            continue
        own_A = np.flatnonzero(design.term_A == t)
        largest = own_A[np.argsort(-design.words_A[own_A], kind="stable")[:VALUES]]
        column = "/".join(design.columns[q].name for q in term)
        yield column, [(names[a], ((ids_nM == a) & (shares_nM >= 0.5)).any(1)) for a in largest]


def distinctive(own_V: np.ndarray, rest_V: np.ndarray) -> np.ndarray:
    """The words that are certainly commoner in the documents of a value, best first."""
    prior_V = PRIOR * (own_V + rest_V) / max((own_V + rest_V).sum(), 1) + 1e-9
    odds = []
    for count_V in (own_V, rest_V):
        with_prior_V = count_V + prior_V
        odds.append(np.log(with_prior_V) - np.log(with_prior_V.sum() - with_prior_V))
    error_V = np.sqrt(1 / (own_V + prior_V) + 1 / (rest_V + prior_V))
    score_V = (odds[0] - odds[1]) / error_V
    score_V[own_V < DOCUMENTS] = 0
    score_V[: len(SPECIALS)] = 0
    best = np.argsort(-score_V, kind="stable")[:WORDS]
    return best[score_V[best] > CERTAIN]
