"""What conf/task/authorship.yaml holds, and what the task works with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from atd.settings import Rule, listed, number, one_of, optional, some_of, whole
from tasks.engine.check import LANGUAGE_MODELS, Fits
from tasks.engine.groups import PROCESSES

FITS = Fits(data=("Blogs",), models=("atd", "paper"), optims=LANGUAGE_MODELS)
PARTS = ("experiments", "inferred", "likelihood", "composition", "mixture")
COUNTS = Rule(lambda v: listed(whole(1)).fits(v) and len(v) > 0, "a list of whole numbers, each 1 or more")


@dataclass(frozen=True)
class Classifier:
    """Of `atd.softmax_classifier.SoftmaxClassifier`."""

    epochs: Annotated[int, whole(1)]
    batch_size: Annotated[int, whole(1)]
    lr: Annotated[float, number(0, open_low=True)]
    damping: Annotated[float, number(0)]
    margin: Annotated[float, number(0)]
    l2: Annotated[float, number(0)]


@dataclass(frozen=True)
class Settings:
    name: str
    parts: Annotated[list[str], some_of(*PARTS)]
    folds: Annotated[int, whole(2)]
    workers: Annotated[int, PROCESSES]  # folds scored side by side, one thread each
    min_df: Annotated[int, whole(1)]  # tf-idf: a token must occur in so many training posts
    dense: Annotated[float, number(0, open_low=True)]  # norm of a document vector beside tf-idf's 1
    weights: Annotated[str, one_of("log", "probability")]  # of attribute vectors in an inferred one
    crossfit: Annotated[int, whole(1)]  # parts of the training posts whose attributes are predicted from the others
    teachers: Annotated[str, one_of("others", "authors")]  # inferred: whose posts teach the predictor of tuples
    classifier: Classifier  # of authors
    predictor: Classifier  # of attributes
    tuple_predictor: Classifier  # inferred: of attributes, for authors it has not seen
    texts: Annotated[int, whole(1)]  # likelihood: posts judged, one per author
    text_words: Annotated[int, whole(1)]  # their first words
    leave_out: Annotated[int, whole(1)]  # composition: tuples kept from training
    components: Annotated[list[int], COUNTS]  # mixture: vectors per attribute
    mixture_words: Annotated[int | None, optional(whole(1))]  # its vocabulary
    variant_posts: Annotated[int | None, optional(whole(1))]  # composition and mixture: posts of each author
