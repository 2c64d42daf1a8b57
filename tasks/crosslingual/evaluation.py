"""All metrics of one trained model: topics carried over, translations retrieved, words translated.

n lines of a part, K dim of a sentence vector.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import torch

from atd.contrast import precision_at_1
from tasks.crosslingual.topics import CLASSIFIERS, WEIGHTINGS, Documents, Verdict, available
from tasks.crosslingual.words import induced_dictionary, read_dictionary, translation_precision

if TYPE_CHECKING:
    from atd.ranking import RankingModel
    from datamodules.europarl_rcv import EuroparlRCV
    from tasks.crosslingual.settings import Settings


def evaluate(
    model: RankingModel, data: EuroparlRCV, task: Settings, seed: int
) -> tuple[dict[str, float], list[Verdict]]:
    """The metrics, and every verdict on topics."""
    scores, verdicts = judge_topics(model, data, task, seed)
    scores |= retrieval_scores(model, data, task.pairs[0])
    scores |= word_scores(model, data, task.dictionary)
    return scores, verdicts


def judge_topics(
    model: RankingModel, data: EuroparlRCV, task: Settings, seed: int
) -> tuple[dict[str, float], list[Verdict]]:
    """Both directions of the first pair, by every weighting and classifier, and with fewer documents for the curve.

    Metrics are the verdicts of `task.weighting` and `task.classifier` after all `task.documents`.
    """
    a, b = task.pairs[0].split("-")
    chosen = task.weighting, task.classifier
    documents = Documents(model, data)
    scores: dict[str, float] = {}
    verdicts = []
    for source in available(data, task.topics, (a, b)):
        for learned, judged in ((a, b), (b, a)):
            for way in product(WEIGHTINGS, CLASSIFIERS):
                verdict = documents.judge(source, learned, judged, *way, task.documents, seed)
                verdicts.append(verdict)
                if way == chosen:
                    scores[verdict.metric] = verdict.accuracy
            verdicts += [documents.judge(source, learned, judged, *chosen, n, seed) for n in task.sizes]
    return scores, verdicts


def retrieval_scores(model: RankingModel, data: EuroparlRCV, pair: str) -> dict[str, float]:
    """P@1 on held-out lines, on the given test lines, and on those of them that are in the language of the file."""
    a, b = pair.split("-")
    scores: dict[str, float] = {}
    for name, part, only in (
        ("heldout", "heldout", None),
        ("retrieval", "test", None),
        (f"retrieval_only_{b}", "test", b),
    ):
        forth, back = retrieval(model, data, pair, part, only)
        scores |= {f"{name}_{a}_{b}": forth, f"{name}_{b}_{a}": back}
    return scores


def retrieval(
    model: RankingModel, data: EuroparlRCV, pair: str, part: str, only: str | None = None
) -> tuple[float, float]:
    """P@1 from source to target and back, over all lines of a part or those whose target is written in `only`."""
    a_nK = model.sentences(data.source(pair, part), 0)
    b_nK = torch.zeros_like(a_nK)
    for language, lines, sentences in data.target(pair, part):
        b_nK[torch.tensor(lines)] = model.sentences(sentences, language)
    if only is not None:
        kept = torch.from_numpy(data.written_in(pair, part) == only)
        a_nK, b_nK = a_nK[kept], b_nK[kept]
    return precision_at_1(a_nK, b_nK), precision_at_1(b_nK, a_nK)


def word_scores(model: RankingModel, data: EuroparlRCV, dictionary: str | None) -> dict[str, float]:
    """Translation of single words by nearest neighbour, against a dictionary given or induced."""
    source, target = data.vocabularies[:2]
    if dictionary:
        pairs = read_dictionary(dictionary, source, target)
    else:
        pairs = induced_dictionary(data.training()[0], source, target)
    at_1, at_5 = translation_precision(model.embeddings(0), model.embeddings(1), pairs)
    return {"words_p1": at_1, "words_p5": at_5}
