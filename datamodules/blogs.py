"""The Blog Authorship Corpus: posts of the many train the language model, posts of the prolific few are attributed.

The attribute of a post is its author's (gender, age group, industry), named like `female/10s/student`.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from atd.design import Design
from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.settings import number, optional, whole
from atd.table import random_split
from datamodules.corpus import Corpus, by_split, sample_folder
from datamodules.encode import count_vocabulary, ids
from datamodules.readers.blogs import attribute_names, find_blogs, prolific, read_authors, read_blogs
from datamodules.values import by_name, coded

PARTS = ("gender", "age_group", "industry")
UNSEEN = 3  # the number, after those of train, val and test, of the split that holds the tuples left out


class Blogs(Corpus):
    """Posts of all but the `prolific` authors with most posts. Each distinct tuple is one attribute; with `compose`
    every gender, age group and industry is (gender=female, …) and a post has three, whose vectors add up.

    `holdout` is the share of posts for validation, at most `holdout_posts`, and as much again for test; every attribute
    occurs in train. `posts` limits the posts of every author to so many random ones. `leave_out` tuples are kept from
    training altogether: `encoded["unseen"]`. `sample`: bloggers of our own making, in place of those under `path`.
    `prolific_posts()` gives the others' posts, `folds` their division for cross-validation.
    """

    def __init__(
        self,
        *,
        prolific: Annotated[int, whole(1)] = 1000,
        compose: bool = False,
        holdout: Annotated[float, number(0, 0.3, open_low=True)] = 0.05,
        holdout_posts: Annotated[int, whole(1)] = 2500,
        posts: Annotated[int | None, optional(whole(1))] = None,
        leave_out: Annotated[int, whole(0)] = 0,
        sample: bool = False,
        **common: Any,
    ):
        super().__init__(**common)
        self.prolific = prolific
        self.compose = compose
        self.holdout = holdout
        self.holdout_posts = holdout_posts
        self.posts = posts
        self.leave_out = leave_out
        self.sample = sample

    def inputs(self) -> list[Path]:
        if self.sample:
            self.path = sample_folder(self.cache)
        return list(find_blogs(self.path).paths)

    def settings(self) -> dict[str, Any]:
        names = ("prolific", "compose", "holdout", "holdout_posts", "posts", "leave_out")
        return {name: getattr(self, name) for name in names}

    def build(self) -> EncodedCorpus:
        authors = read_authors(self.path)
        everyone = authors["author"].combine_chunks()
        rest = everyone.filter(pc.invert(pc.is_in(everyone, value_set=prolific(authors, self.prolific))))
        if not len(rest):
            raise AtdError(f"data.prolific={self.prolific}: there are only {len(authors)} authors; leave some")
        table = some_posts(read_blogs(self.path, rest), self.posts)
        unseen = left_out(table, self.leave_out)
        attributes, design = self._attributes(table, unseen)
        split = np.full(len(table), UNSEEN, dtype=np.int8)
        tuples = by_name(
            attribute_names(table).combine_chunks()
        ).indices.to_numpy()  # so that compose holds out the same
        share = min(self.holdout, self.holdout_posts / max(1, (~unseen).sum()))
        split[~unseen] = random_split(tuples[~unseen], share, seed=0)
        order = by_split(split)
        table = table.take(pa.array(order))
        tokens = self.tokeniser.folded(table["text"])
        vocabulary = count_vocabulary(tokens, self.min_count, self.max_size, documents=split[order] == 0)
        columns = {"split": split[order], "author": table["author"].to_numpy()}
        meta = {"vocabulary": vocabulary.state(), "attributes": design.names, "design": design.state()}
        return EncodedCorpus(ids(tokens, vocabulary), tokens.offsets, attributes[order], columns, meta)

    def _attributes(self, table: pa.Table, unseen: np.ndarray) -> tuple[np.ndarray, Design]:
        """(ids, what they stand for). A tuple left out has the id −1; its gender, age and industry have theirs."""
        columns, codes = zip(*(coded(part, by_name(table[part].combine_chunks())) for part in PARTS))
        terms = [(q,) for q in range(len(PARTS))] if self.compose else [tuple(range(len(PARTS)))]
        seen = [(ids[~unseen], shares[~unseen]) for ids, shares in codes]
        design = Design.of(columns, terms, codes if self.compose else seen)
        attributes, shares = design.encode(codes)
        return attributes if shares is None else np.where(shares[:, 0] > 0, attributes, -1), design

    def setup(self, stage: str | None = None) -> None:
        if not self.encoded:
            super().setup(stage)
            if self.leave_out:
                corpus = self._open(rebuild=False)
                self.encoded["unseen"] = corpus.take(corpus.columns["split"] == UNSEEN)

    def prolific_posts(self) -> pa.Table:
        """Table(author, attribute, text): the posts of the prolific authors."""
        table = some_posts(read_blogs(self.path, prolific(read_authors(self.path), self.prolific)), self.posts)
        return pa.table({"author": table["author"], "attribute": attribute_names(table), "text": table["text"]})


def some_posts(table: pa.Table, most: int | None) -> pa.Table:
    """At most so many random posts of every author, in their old order; the same ones whatever the seed."""
    if most is None:
        return table
    order = np.random.default_rng(0).permutation(len(table))
    author = table["author"].to_numpy()[order]
    by_author = np.argsort(author, kind="stable")
    first = np.searchsorted(author[by_author], author[by_author])  # where the author's own posts begin
    kept = order[by_author[np.arange(len(order)) - first < most]]
    return table.take(pa.array(np.sort(kept)))


def left_out(table: pa.Table, n: int) -> np.ndarray:
    """The posts of n random tuples, each of whose gender, age group and industry others have too."""
    names = attribute_names(table)
    if not n:
        return np.zeros(len(table), dtype=bool)
    tuples = sorted(names.unique().to_pylist())
    chosen: list[str] = []
    for i in np.random.default_rng(0).permutation(len(tuples)):
        rest = [t.split("/", 2) for t in tuples if t not in chosen and t != tuples[i]]
        if all(part in column for part, column in zip(tuples[i].split("/", 2), zip(*rest))):
            chosen.append(tuples[i])
        if len(chosen) == n:
            return pc.is_in(names, value_set=pa.array(chosen)).to_numpy()
    raise AtdError(f"data.leave_out={n}: only {len(chosen)} of {len(tuples)} tuples can be left out; choose fewer")


def folds(author: np.ndarray, n: int = 10, seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """n (train, test) pairs of row numbers; every author's posts are spread evenly over the test parts.

    An author with fewer than n posts is missing from some test parts, never from a training part (if he has two).
    """
    from sklearn.model_selection import StratifiedKFold

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # authors with fewer posts than folds: as said above
        return list(StratifiedKFold(n, shuffle=True, random_state=seed).split(author, author))
