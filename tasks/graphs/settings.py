"""The settings of task=graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from atd.settings import NAME, listed, number, one_of, optional, some_of, whole
from tasks.engine.check import LANGUAGE_MODELS, Fits

ROWS = (
    "atd",
    "atd-plain",
    "atd-unseen",
    "graph2vec",
    "graph2vec-in-order",
    "wl-histogram",
    "wl-kernel",
    "size",
    "shuffled",
    "majority",
)
FITS = Fits(data=("Graphs",), models=("atd",), optims=LANGUAGE_MODELS)


@dataclass(frozen=True)
class Doc2Vec:
    D: Annotated[int, whole(1)]
    epochs: Annotated[int, whole(1)]


@dataclass(frozen=True)
class Settings:
    name: str
    sets: Annotated[list[str] | None, optional(listed(NAME))]  # of graphs, one after another; None: data.dataset
    rows: Annotated[list[str], some_of(*ROWS)]
    depths: Annotated[list[int], listed(whole(0))]  # of labels; the kernels of all are averaged
    C: Annotated[
        list[float], listed(number(0, open_low=True))
    ]  # of the classifier; each fold chooses on its training graphs
    seeds: Annotated[int, whole(1)]
    workers: Annotated[int, whole(1)]
    graph2vec: Doc2Vec
    method: Annotated[str, one_of("tsne", "pca")]  # of the map
    perplexity: Annotated[float, number(0, open_low=True)]  # of t-SNE
