"""The Blog Authorship Corpus: posts of the many train the language model, posts of the prolific few are attributed.

The attribute of a post is its author's (gender, age group, industry), named like `f/10/student`.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from atd.errors import AtdError
from datamodules.cache import EncodedCorpus
from datamodules.corpus import Corpus, by_split, sample_folder
from datamodules.encode import count_vocabulary, ids
from datamodules.readers.blogs import attribute_names, find_blogs, prolific, read_authors, read_blogs
from datamodules.table import composed, random_split

PARTS = ("gender", "age_group", "industry")


class Blogs(Corpus):
    """Posts of all but the `prolific` authors with most posts. Each distinct tuple is one attribute; with `compose`
    every gender, age group and industry is (gender=female, …) and a post has three, whose vectors add up.

    `holdout` is the share of posts for validation, and as much again for test; every attribute occurs in train.
    `prolific_posts()` gives the others' posts, `folds` their division for cross-validation.
    """

    def __init__(
        self, *, prolific: int = 1000, compose: bool = False, holdout: float = 0.05, sample: bool = False, **common: Any
    ):
        super().__init__(**common)
        if prolific < 1:
            raise AtdError(f"data.prolific={prolific}: must be a whole number, 1 or more")
        if not 0 < holdout <= 0.3:
            raise AtdError(f"data.holdout={holdout}: must be above 0 and at most 0.3")
        self.prolific, self.compose, self.holdout, self.sample = prolific, compose, holdout, sample

    def inputs(self) -> list[Path]:
        if self.sample:
            self.path = sample_folder(self.cache)
        return list(find_blogs(self.path).paths)

    def settings(self) -> dict[str, Any]:
        return {"prolific": self.prolific, "compose": self.compose, "holdout": self.holdout}

    def build(self) -> EncodedCorpus:
        authors = read_authors(self.path)
        everyone = authors["author"].combine_chunks()
        rest = everyone.filter(pc.invert(pc.is_in(everyone, value_set=prolific(authors, self.prolific))))
        if not len(rest):
            raise AtdError(f"data.prolific={self.prolific}: there are only {len(authors)} authors; leave some")
        table = read_blogs(self.path, rest)
        if self.compose:
            attributes, names = composed({part: _sorted_dictionary(table[part]) for part in PARTS})
        else:
            column = _sorted_dictionary(attribute_names(table))
            attributes, names = column.indices.to_numpy().astype(np.int32), column.dictionary.to_pylist()
        split = random_split(attributes, self.holdout, seed=0)
        order = by_split(split)
        table = table.take(pa.array(order))
        tokens = self.tokeniser.folded(table["text"])
        vocabulary = count_vocabulary(tokens, self.min_count, self.max_size, documents=split[order] == 0)
        columns = {"split": split[order], "author": table["author"].to_numpy()}
        meta = {"vocabulary": vocabulary.state(), "attributes": names}
        return EncodedCorpus(ids(tokens, vocabulary), tokens.offsets, attributes[order], columns, meta)

    def prolific_posts(self) -> pa.Table:
        """Table(author, attribute, text): the posts of the prolific authors."""
        table = read_blogs(self.path, prolific(read_authors(self.path), self.prolific))
        return pa.table({"author": table["author"], "attribute": attribute_names(table), "text": table["text"]})


def folds(author: np.ndarray, n: int = 10, seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """n (train, test) pairs of row numbers; every author's posts are spread evenly over the test parts.

    An author with fewer than n posts is missing from some test parts, never from a training part (if he has two).
    """
    from sklearn.model_selection import StratifiedKFold

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # authors with fewer posts than folds: as said above
        return list(StratifiedKFold(n, shuffle=True, random_state=seed).split(author, author))


def _sorted_dictionary(column: pa.ChunkedArray) -> pa.DictionaryArray:
    encoded = column.combine_chunks().dictionary_encode()
    names = encoded.dictionary.sort()
    place = pc.index_in(encoded.dictionary, names).to_numpy().astype(np.int32)
    return pa.DictionaryArray.from_arrays(place[encoded.indices.to_numpy()], names)
