"""The settings of task=effects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from atd.settings import listed, number, whole


@dataclass(frozen=True)
class Settings:
    name: str
    V: Annotated[int, whole(200)]  # words of the vocabulary
    K: Annotated[int, whole(2)]  # length of word vectors, counted from the text itself
    subjects: Annotated[int, whole(2)]
    pairs: Annotated[int, whole(2)]  # of words that swap places
    documents: Annotated[list[int], listed(whole(1))]  # numbers of documents, each with each share
    shares: Annotated[list[float], listed(number(0, 1))]  # probabilities of a swap under value 1
    tilt: Annotated[float, number(0)]  # for one row: how much likelier some subjects are under one value (log ratio)
    min_documents: Annotated[int, whole(3)]
    reach: Annotated[int, whole(1)]
    worlds: Annotated[int, whole(1)]  # texts drawn for each point of the power curves
    shuffles: Annotated[int, whole(1)]  # of the values, to see p where there is no effect
    samples: Annotated[int, whole(1)]  # texts drawn to see how often intervals cover
    truth: Annotated[int, whole(1)]  # how many times the documents of a sample the true effects are taken from
    permutations: Annotated[int, whole(1)]  # of the rivals' tests
    epochs: Annotated[int, whole(1)]  # of the rivals' Word2Vec
