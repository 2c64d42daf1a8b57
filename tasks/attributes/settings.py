"""The settings of the general task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from atd.settings import Name, listed, number, one_of, optional, whole
from tasks.engine.check import LANGUAGE_MODELS, Fits
from tasks.engine.groups import PROCESSES
from tasks.learning.controls import MEANING

FITS = Fits(
    data=("Gutenberg", "Blogs", "TableCorpus", "Authors", "FolderCorpus", "Treebank", "Languages"),
    models=("atd", "paper", "tensor", "mixture"),
    optims=LANGUAGE_MODELS,
)


@dataclass(frozen=True)
class Settings:
    name: str
    word: Name | None  # whose neighbours are compared; None = the words that change most between a and b
    a: Name | None  # two attributes to compare and to mix; None = the two least alike
    b: Name | None
    words: Annotated[int, whole(1)]  # length of each sample
    temperature: Annotated[float, number(0)]
    controls: Annotated[list[str] | None, optional(listed(one_of(*MEANING)))]  # None = the usual three
    seeds: Annotated[int, whole(1)]
    steps: Annotated[list[float], listed(number(0, open_low=True))]  # step sizes tried, relative to optim.lr
    workers: Annotated[int | None, optional(PROCESSES)]  # models trained side by side; None = `side_by_side`
