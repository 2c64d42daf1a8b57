"""The settings of task=authors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from atd.settings import listed, one_of, optional, some_of, whole
from tasks.engine.check import LANGUAGE_MODELS, Fits

MIXED = ("atd", "kneser-ney-characters", "kneser-ney-words", "char-ngrams", "word-ngrams")
CLASSIFIERS = ("classifier", "classifier-likelihoods", "classifier-counts", "classifier-ngrams")
CONTROLS = ("shuffled", "doc2vec", "char-svm", "nearest", *CLASSIFIERS)
FITS = Fits(data=("TableCorpus", "Authors"), models=("atd",), optims=LANGUAGE_MODELS)


@dataclass(frozen=True)
class Order:
    words: Annotated[int, whole(1)]
    characters: Annotated[int, whole(1)]


@dataclass(frozen=True)
class Settings:
    name: str
    rows: Annotated[list[str], some_of(*MIXED)]
    controls: Annotated[list[str], listed(one_of(*CONTROLS))]
    seeds: Annotated[int, whole(1)]
    workers: Annotated[int, whole(1)]
    tuned: Annotated[int, whole(1)]
    left_out: Annotated[int, whole(0)]
    texts: Annotated[int | None, optional(whole(1))]
    order: Order
    samples: Annotated[int, whole(1)]
    shown: Annotated[int, whole(0)]
