"""What conf/task/generation.yaml holds, and what the task works with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from atd.settings import Name, listed, number, optional, whole
from tasks.engine.check import LANGUAGE_MODELS, Fits

FITS = Fits(data=("Gutenberg", "TableCorpus"), models=("atd", "paper"), optims=LANGUAGE_MODELS)


@dataclass(frozen=True)
class Settings:
    name: str
    measure: bool  # False: only write the samples asked for, with the model of a checkpoint
    words: Annotated[int, whole(1)]  # length of samples
    samples: Annotated[int, whole(1)]  # per book, for the judge
    books: Annotated[int, whole(2)]  # most that are measured: those with most text
    temperature: Annotated[float, number(0)]
    temperatures: Annotated[list[float], listed(number(0))]  # of the curves of style against fluency
    top_k: Annotated[int | None, optional(whole(1))]
    top_p: Annotated[float | None, optional(number(0, 1, open_low=True))]  # both for the samples shown
    start: str  # text the shown samples begin with
    mix: list[Name]  # what to show samples of; empty = every book and the paper's mix
    like: str | None  # a text file: its vector is inferred, and a sample shown
    matrix_words: Annotated[int, whole(100)]  # held-out words per book for the table of every book under every vector
