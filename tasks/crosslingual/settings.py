"""What conf/task/crosslingual.yaml holds, and what the task works with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from atd.settings import listed, one_of, optional, whole
from datamodules.readers.topics import SOURCES
from tasks.crosslingual.controls import CONTROLS
from tasks.engine.check import Fits
from tasks.learning.ranking import Objective

RANKING = "ranking"  # the method that learns; the others are controls
FITS = Fits(data=("EuroparlRCV", "ParallelCorpus"), models=("ranking",), optims=("rows",))


@dataclass(frozen=True)
class Settings:
    name: str
    method: Annotated[str, one_of(RANKING, *CONTROLS)]  # what a row is
    pairs: list[str]  # around one pivot, the first language; topics and retrieval are of the first pair
    limit: dict[str, Annotated[int | None, optional(whole(1))]]  # first n training lines of a pair; None = all
    objective: Objective
    draw: bool  # contrastive sentences of the hinge drawn from the whole corpus; False = by turning the batch
    topics: Annotated[list[str] | None, optional(listed(one_of(*SOURCES)))]  # None = those the corpus has
    documents: Annotated[int, whole(1)]  # training documents
    sizes: Annotated[list[int], listed(whole(1))]  # further points of the curve
    weighting: Annotated[str, one_of("sum", "idf")]
    classifier: Annotated[str, one_of("perceptron", "logistic")]
    dictionary: str | None  # a file, muse or bible; None = what is there
    seeds: Annotated[int, whole(1)]  # of every row that learns
    show: str  # row whose words are shown; the first if it is not among the rows
    rows: list[str]  # models
    controls: list[str]  # what they stand beside
    changes: dict[str, dict[str, Any] | None]  # what a row changes in the configuration
    vectors: str | None  # of the rows that start English at such: `glove` or a file
    bibles: list[str]  # of the polyglot rows
