"""Which language a sentence is written in, by the words it uses.

Parliaments print a speech untranslated when no translation was made, so a line of a "German" file may be French. The
judge is naive Bayes over words, taught on text of known language, then twice more on the lines it judged: scripture
and legislation use different nouns, and in most files one language prevails. T types, A languages, n sentences.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
from scipy import sparse

from atd.errors import AtdError
from atd.tokeniser import Tokeniser
from datamodules.readers import bible, monolingual
from datamodules.readers.topics import read_sib200

SMOOTHING = 0.3
ROUNDS = 2


def identify(texts: pa.ChunkedArray, known: Mapping[str, pa.ChunkedArray]) -> np.ndarray:
    """The language (a key of `known`) of every text, as an array of strings."""
    names = list(known)
    tokeniser = Tokeniser("fast", "fr")  # l'Europe → l' europe: the elision is what gives French away
    columns = [*known.values(), texts]
    tokens = tokeniser.folded(pa.chunked_array([c for column in columns for c in column.cast(pa.string()).chunks]))
    ones = np.ones(len(tokens.tokens), np.float32)
    counts = sparse.csr_array((ones, tokens.tokens, tokens.offsets), shape=(len(tokens), len(tokens.types)))
    sizes = np.cumsum([0, *(len(column) for column in columns)])
    taught = np.stack([np.asarray(counts[sizes[i] : sizes[i + 1]].sum(0)).ravel() for i in range(len(names))])
    asked = counts[sizes[-2] :]
    share = taught / np.maximum(taught.sum(1, keepdims=True), 1)
    evidence = 1e5 * share  # every language speaks with one voice, however much text it has
    answer = judged(asked, evidence, np.ones(len(names)))
    for _ in range(ROUNDS):
        own = np.stack([np.asarray(asked[answer == i].sum(0)).ravel() for i in range(len(names))])
        answer = judged(asked, evidence + own, np.bincount(answer, minlength=len(names)) + 1)
    return np.array(names)[answer]


def judged(counts_nT: sparse.csr_array, evidence_AT: np.ndarray, prior_A: np.ndarray) -> np.ndarray:
    smooth = evidence_AT + SMOOTHING
    log_p = np.log(smooth / smooth.sum(1, keepdims=True))
    return (np.asarray(counts_nT @ log_p.T) + np.log(prior_A)).argmax(1)


def known_texts(data_dir: str | Path, languages: list[str], lines: int = 5000) -> dict[str, pa.ChunkedArray]:
    """Some text of each language, from whatever there is: Bible, monolingual text, topics. Others are left out."""
    found = {}
    for lang in languages:
        parts = []
        for read in (
            lambda lang: bible.read_bible(data_dir, lang)["text"],
            lambda lang: monolingual.read_monolingual(data_dir, lang)["text"],
            lambda lang: read_sib200(data_dir, lang, "train")["text"],
        ):
            try:
                column = read(lang)
                some = np.linspace(0, len(column) - 1, min(lines, len(column))).astype(int)
                parts.append(column.take(pa.array(some)))
            except AtdError:
                continue
        if parts:
            found[lang] = pa.chunked_array([c.cast(pa.string()) for part in parts for c in part.chunks])
    return found
