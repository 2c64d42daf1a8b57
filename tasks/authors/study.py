"""The texts of a study, as words and as characters, in parts: what every row is trained on and judged by.

n texts of a part, A authors who may have written them.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from atd.encoded import EncodedCorpus
from atd.encoding import encode
from atd.errors import AtdError
from atd.lm import MultiplicativeLM
from atd.ragged import Ragged
from datamodules.authors import Authors
from datamodules.table import TableCorpus
from tasks.learning.corpora import open_corpus

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from tasks.authors.settings import Settings

UNITS = ("words", "characters")
JUDGED = ("val", "test", "strangers", "unknown")  # parts that rows give scores to
CHARACTERS = {"kind": "characters", "lowercase": False, "numbers": False}


class Study:
    """Parts: `train`; `val`, by which scores become probabilities; `test`; `strangers`, test texts of authors who are
    left out of training; `unknown`, texts of the user whose authors are asked for.

    `authors` are the names of those who are not left out, and labels are places in it. The author is the first of the
    columns. Others say what is known of him: he is then composed of his own vector and those that he shares.
    """

    def __init__(self, cfg: DictConfig, task: Settings):
        self.corpora = {
            "words": table_of(open_corpus(cfg)),
            "characters": table_of(open_corpus(cfg, tokeniser=CHARACTERS, min_count=1, max_size=None)),
        }
        self.tuned = task.tuned
        self.texts = task.texts
        names = names_of(self.corpora["words"])
        drawn = np.random.default_rng(0).permutation(len(names))
        if len(names) - task.left_out < 2:
            raise AtdError(f"task.left_out={task.left_out}: of {len(names)} authors at least two must remain")
        self.known = np.sort(drawn[task.left_out :])  # ids
        self.authors = [names[a] for a in self.known]
        self.place = np.full(len(names), -1)  # of every id among the authors, −1 if left out
        self.place[self.known] = np.arange(len(self.known))
        self.asked = self.corpora["words"].unknown_texts()
        twins = self.corpora["words"].twin_names() if isinstance(self.corpora["words"], Authors) else set()
        self.twin = np.array([name in twins for name in self.authors])  # of every author, whether he has one

    def open(self) -> Study:
        """Ready for work; in another process the corpora must be opened again."""
        for corpus in self.corpora.values():
            corpus.setup("fit")
        return self

    def part(self, unit: str, name: str) -> EncodedCorpus | Ragged:
        """The texts of a part, in the same order whatever the unit."""
        corpus = self.corpora[unit]
        if name == "unknown":
            ids, offsets, _ = encode(self.asked, corpus.tokeniser, corpus.vocabulary)
            return Ragged(ids, offsets)
        texts = corpus.encoded["test" if name == "strangers" else name]
        label_n = self.place[authors_of(texts)]
        stranger_n = label_n < 0
        chosen = np.flatnonzero(stranger_n if name == "strangers" else ~stranger_n)
        if name == "val" and len(chosen) > self.tuned:
            chosen = np.sort(np.random.default_rng(0).permutation(chosen)[: self.tuned])
        if name == "train" and self.texts is not None:
            chosen = chosen[some_of_each(label_n[chosen], self.texts)]
        return texts.take(chosen)

    def labels(self, name: str) -> np.ndarray:
        """The author of every text of a part (n)."""
        texts = self.part("words", name)
        assert isinstance(texts, EncodedCorpus)
        return self.place[authors_of(texts)]

    def vectors(self, model: MultiplicativeLM) -> Tensor:
        """x of every author, what he shares with others included (A×D)."""
        train, label_n = self.part("words", "train"), self.labels("train")
        assert isinstance(train, EncodedCorpus)
        ids_nM = train.attributes.reshape(len(train), -1)
        first_A = np.unique(label_n, return_index=True)[1]
        if other := np.flatnonzero((ids_nM != ids_nM[first_A[label_n]]).any(1)).tolist():
            name = self.authors[label_n[other[0]]]
            columns = ",".join(self.corpora["words"].chosen[1:])
            raise AtdError(
                f"data.attributes: {columns} differ among the texts of {name}; give what describes the author"
            )
        return model.vectors().detach()[ids_nM[first_A]].sum(1)

    def lengths(self, name: str) -> np.ndarray:
        """Words of every text (n)."""
        return self.part("words", name).lengths

    @property
    def log_prior(self) -> np.ndarray:
        """How much of the training texts each author wrote (A)."""
        counts = np.bincount(self.labels("train"), minlength=len(self.authors))
        return np.log(counts / counts.sum())

    def strings(self, name: str) -> list[str]:
        """The texts of a part as they were written."""
        if name == "unknown":
            return self.asked
        return spelt(self.part("characters", name), self.corpora["characters"].vocabulary.words)

    def training(self, shuffled: int | None = None, rows: np.ndarray | None = None) -> TableCorpus:
        """The corpus of words without the authors left out; authors dealt at random with the seed `shuffled`.

        `rows`: only these of the training texts.
        """
        whole = self.corpora["words"]
        train = self.part("words", "train")
        assert isinstance(train, EncodedCorpus)
        train = train if rows is None else train.take(rows)
        train = train if shuffled is None else train.shuffled(shuffled)
        corpus = copy.copy(whole)  # without its texts
        corpus.encoded = {**whole.encoded, "train": train}
        return corpus


def table_of(corpus: object) -> TableCorpus:
    """The corpus, if it has one column of names."""
    assert isinstance(corpus, TableCorpus)
    if len(corpus.terms[0]) != 1 or corpus.knots:
        columns = ",".join(corpus.chosen)
        raise AtdError(f"data.attributes=[{columns}]: task=authors needs a column of names first, each with its vector")
    return corpus


def names_of(corpus: TableCorpus) -> list[str]:
    """The values of the first column, in the order of their attributes, which come before all others."""
    design = corpus.encoded["train"].design
    return [design.columns[0].values[i] for (i,) in design.combinations[0]]


def authors_of(texts: EncodedCorpus) -> np.ndarray:
    """The attribute of the first column (n)."""
    return texts.attributes.reshape(len(texts), -1)[:, 0]


def some_of_each(label_n: np.ndarray, most: int) -> np.ndarray:
    """Places of texts drawn at random, so many of each author at most."""
    drawn = np.random.default_rng(0).permutation(len(label_n))
    by_author = drawn[np.argsort(label_n[drawn], kind="stable")]
    start_n = np.searchsorted(label_n[by_author], label_n[by_author])
    return np.sort(by_author[np.arange(len(by_author)) - start_n < most])


def spelt(texts: Ragged, characters: list[str]) -> list[str]:
    """Texts of characters as strings; a character that is not in the table becomes �."""
    points = np.array([ord(c) if len(c) == 1 else 0xFFFD for c in characters], "<u4")[texts.tokens]
    return [points[a:b].tobytes().decode("utf-32-le", "replace") for a, b in zip(texts.offsets, texts.offsets[1:])]
