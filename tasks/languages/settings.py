"""What conf/task/languages.yaml holds, and what the task works with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from atd.settings import number, one_of, whole
from tasks.engine.check import LANGUAGE_MODELS, Fits

FITS = Fits(data=("Languages",), models=("atd", "paper", "unshared"), optims=LANGUAGE_MODELS)


@dataclass(frozen=True)
class Settings:
    name: str
    seeds: Annotated[int, whole(1)]
    method: Annotated[str, one_of("tsne", "mds", "pca")]  # of the map
    perplexity: Annotated[float, number(0, open_low=True)]  # of t-SNE
