"""Reviewers, papers of theirs, and submissions to be matched with them. A paper is a document and an attribute."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa

from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.settings import TEXT, optional, whole
from datamodules.corpus import Corpus, sample_folder
from datamodules.encode import encode
from datamodules.readers.reviewers import Columns, Pool, find_gold, read_gold, read_tables
from datamodules.readers.table import find_tables


class Reviewers(Corpus):
    """All papers are learned from, submitted or not: nothing is told of who wrote, submitted or rated which.

    - `reviewers`, `papers` and `ratings` are tables of one's own: papers of each reviewer, submissions, and perhaps
      how much of an expert a reviewer is for a submission. Without them `path` holds the gold standard.
    - `reviewer`, `title`, `text`, `id`, `expertise` name their columns; a table without titles has `title: null`.
    - `fulltext`: so many words of every full text are learned from besides, as papers of their own.
    - `sample`: tables of our own making, where none are named.
    """

    def __init__(
        self,
        *,
        reviewers: Annotated[str | None, optional(TEXT)] = None,
        papers: Annotated[str | None, optional(TEXT)] = None,
        ratings: Annotated[str | None, optional(TEXT)] = None,
        reviewer: str = "reviewer",
        title: Annotated[str | None, optional(TEXT)] = "title",
        text: str = "abstract",
        id: str = "id",
        expertise: str = "expertise",
        fulltext: Annotated[int, whole(0)] = 0,
        sample: bool = False,
        **common: Any,
    ):
        super().__init__(**common)
        own = sample and reviewers is None and papers is None
        reviewers, papers, ratings = sample_tables(self.cache) if own else (reviewers, papers, ratings)
        if (reviewers is None) != (papers is None):
            missing, given = ("papers", reviewers) if papers is None else ("reviewers", papers)
            raise AtdError(f"data.{missing}: {given} alone is no match; name a table of {missing}, too")
        self.tables = (Path(reviewers), Path(papers)) if reviewers and papers else None
        self.ratings_table = Path(ratings) if ratings else None
        self.columns = Columns(reviewer, title, text, id, expertise)
        self.fulltext = fulltext

    def inputs(self) -> list[Path]:
        if self.tables is None:
            return find_gold(self.path)
        given = [*self.tables, *([self.ratings_table] if self.ratings_table else [])]
        return [file for table in given for file in find_tables(table)]

    def settings(self) -> dict[str, Any]:
        return {"columns": asdict(self.columns), "fulltext": self.fulltext}

    def read(self) -> Pool:
        if self.tables is None:
            return read_gold(self.path)
        return read_tables(*self.tables, self.ratings_table, self.columns)

    def build(self) -> EncodedCorpus:
        pool = self.read()
        if self.fulltext and not pool.fulltexts:
            raise AtdError(f"data.fulltext={self.fulltext}: data={self.name} has no full texts; set it to 0")
        more = [" ".join(text.split()[: self.fulltext]) for text in pool.fulltexts] if self.fulltext else []
        texts = [*pool.texts, *more]
        tokens, offsets, vocabulary = encode(texts, self.tokeniser, min_count=self.min_count, max_size=self.max_size)
        known = asdict(pool)
        del known["texts"], known["fulltexts"]
        return EncodedCorpus(
            tokens,
            offsets,
            attributes=np.arange(len(texts), dtype=np.int32),
            columns={"text": pa.array(texts)},
            meta={
                "vocabulary": vocabulary.state(),
                "attributes": [str(i) for i in range(len(texts))],
                "column": "paper",
                "pool": known,
            },
        )

    def setup(self, stage: str | None = None) -> None:
        """Epochs are compared on the papers that are learned from; no rating is looked at."""
        if not self.encoded:
            whole = self._open(rebuild=False)
            self.encoded = {"train": whole, "val": whole}

    @property
    def pool(self) -> Pool:
        """All that is known of the papers; full texts are no papers."""
        whole = self.encoded["train"]
        known = whole.meta["pool"]
        return Pool(texts=whole.columns["text"].to_pylist()[: len(known["titles"])], **known)

    @property
    def papers(self) -> EncodedCorpus:
        """Titles and abstracts, without full texts."""
        whole = self.encoded["train"]
        return whole.take(np.arange(len(whole.meta["pool"]["titles"])))


def sample_tables(cache: Path) -> tuple[str, str, str]:
    """Reviewers, papers and ratings of our own making."""
    folder = sample_folder(cache) / "reviewers"
    return str(folder / "reviewers.csv"), str(folder / "papers.csv"), str(folder / "ratings.csv")
