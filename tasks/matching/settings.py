"""The settings of task=matching."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from atd.settings import TEXT, optional, some_of, whole
from tasks.engine.check import LANGUAGE_MODELS, Fits

COUNTED = ("tfidf", "lsi", "lsi-mixture", "unigram", "no-attribute")
OF_A_MODEL = {  # row: the model it reads
    "atd-likelihood": "atd",
    "atd-distance": "atd",
    "mixture-likelihood": "atd",
    "mixture-distance": "atd",
    "atd-papers": "atd",
    "shuffled": "atd",
    "random-gate": "random-gate",
    "atd-fulltext": "fulltext",
    "atd-pretrained": "pretrained",
}
COMBINED = {  # row: the rows it weighs
    "atd": ("atd-likelihood", "atd-distance"),
    "atd-mixture": ("mixture-likelihood", "mixture-distance"),
    "tfidf+lsi": ("tfidf", "lsi"),
    "tfidf+atd": ("tfidf", "atd-likelihood", "atd-distance", "atd-papers"),
    "tfidf+lsi+atd": ("tfidf", "lsi", "atd-likelihood", "atd-distance", "atd-papers"),
}
ROWS = (*COUNTED, *OF_A_MODEL, *COMBINED)
FITS = Fits(data=("Reviewers",), models=("atd",), optims=LANGUAGE_MODELS)


@dataclass(frozen=True)
class Settings:
    name: str
    rows: Annotated[list[str], some_of(*ROWS)]
    components: Annotated[int, whole(2)]  # vectors of a reviewer in a mixture, at most
    folds: Annotated[int, whole(2)]  # of reviewers' own papers, held out to choose by
    fulltext: Annotated[int, whole(1)]  # words of each full text that atd-fulltext learns from
    vectors: Annotated[str | None, optional(TEXT)]  # pretrained, of 100 dimensions, that atd-pretrained starts from
    seeds: Annotated[int, whole(1)]
    workers: Annotated[int, whole(1)]
    ranked: Annotated[int, whole(1)]  # reviewers named for each submission
    shown: Annotated[int, whole(0)]  # submissions whose words are shown with what they say
