"""What conf/task/crosslingual.yaml holds, and what the task works with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from atd.settings import number, one_of, whole
from tasks.engine.check import Fits

FITS = Fits(data=("EuroparlRCV",), models=("ranking",), optims=("rows",))


@dataclass(frozen=True)
class Loss:
    loss: Annotated[str, one_of("hinge", "hardest", "softmax")]
    alpha: Annotated[float, number(0, open_low=True)]
    contrastive: Annotated[int, whole(1)]  # sentences per pair
    temperature: Annotated[float, number(0, open_low=True)]  # of softmax


@dataclass(frozen=True)
class Settings:
    name: str
    pairs: list[str]  # around one pivot, the first language
    limit: dict[str, Any]  # first n training lines of a pair; null = all
    objective: Loss
    draw: bool  # contrastive sentences drawn from the whole corpus; False = by turning the batch
    topics: list[str]
    documents: Annotated[int, whole(1)]  # training documents
    sizes: list[int]  # further points of the curve
    weighting: Annotated[str, one_of("sum", "idf")]
    classifier: Annotated[str, one_of("perceptron", "logistic")]
    dictionary: str | None
    seeds: Annotated[int, whole(1)]
    show: str  # row whose words are shown
    rows: list[str]
    changes: dict[str, Any]  # what a row changes in the configuration
    vectors: str | None
    bibles: list[str]
