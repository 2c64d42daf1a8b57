"""What conf/task/kinship.yaml holds, and what the task works with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from atd.settings import listed, number, one_of, some_of, whole
from tasks.engine.check import Fits

ROWS = ("atd", "untrained", "no-attributes", "shuffled")
COUNTS = ("ngrams", "ngrams-reduced", "verse-ngrams", "verse-ngrams-reduced", "random")
FITS = Fits(data=("Verses",), models=("meaning",), optims=("adam",))


@dataclass(frozen=True)
class Settings:
    name: str
    rows: Annotated[list[str], some_of(*ROWS)]  # of the model
    counts: Annotated[list[str], listed(one_of(*COUNTS))]  # vectors by counting
    seeds: Annotated[int, whole(1)]  # of atd; the controls have one
    workers: Annotated[int, whole(1)]  # rows side by side, one thread each
    quartets: Annotated[int, whole(1)]  # most of them that trees are judged by
    subsets: Annotated[int, whole(0)]  # of nine tenths of the languages, for the noise of the scores; from two on
    typology: bool  # predict features of grammar, where the corpus has them
    perplexity: Annotated[float, number(0, open_low=True)]  # of the map by t-SNE
