"""All metrics of one row: topics carried over, translations retrieved, words translated.

n lines of a part, K columns, V words of a language.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import torch

from atd.vocabulary import SPECIALS
from tasks.crosslingual.spaces import Matrix, Space
from tasks.crosslingual.topics import Documents, Verdict, available, dense

if TYPE_CHECKING:
    from tasks.crosslingual.dictionary import Dictionary
    from tasks.crosslingual.settings import Settings

ROWS = 1024  # of a matrix of cosines alive at once


@dataclass
class Findings:
    scores: dict[str, float] = field(default_factory=dict)  # per cent
    items: dict[str, int] = field(default_factory=dict)  # documents, lines or words that a score is the share of
    verdicts: list[Verdict] = field(default_factory=list)

    def add(self, metric: str, right: np.ndarray) -> None:
        """A score, from what was right."""
        self.scores[metric] = 100 * float(right.mean())
        self.items[metric] = len(right)


def evaluate(space: Space, task: Settings, dictionary: Dictionary | None, seed: int) -> Findings:
    found = Findings()
    judge_topics(found, space, task, seed)
    find_translations(found, space, task.pairs[0])
    if dictionary is not None:
        translate_words(found, space, dictionary)
    return found


def judge_topics(found: Findings, space: Space, task: Settings, seed: int) -> None:
    """Both directions of the first pair, by every weighting and classifier, and with fewer documents for the curve.

    Metrics are the verdicts of `task.weighting` and `task.classifier`, where a space has them, after all
    `task.documents`.
    """
    a, b = task.pairs[0].split("-")
    chosen = choice(space.weightings, task.weighting), choice(space.classifiers, task.classifier)
    documents = Documents(space)
    for source in available(space.data, task.topics, (a, b)):
        for learned, judged in ((a, b), (b, a)):
            for way in product(space.weightings, space.classifiers):
                verdict = documents.judge(source, learned, judged, *way, task.documents, seed)
                found.verdicts.append(verdict)
                if way == chosen:
                    found.scores[verdict.metric] = verdict.accuracy
                    found.items[verdict.metric] = verdict.judged_on
            found.verdicts += [documents.judge(source, learned, judged, *chosen, n, seed) for n in task.sizes]


def choice(those: tuple[str, ...], asked: str) -> str:
    """What is asked for, if it is among those there are, or else the first."""
    return asked if asked in those else those[0]


def find_translations(found: Findings, space: Space, pair: str) -> None:
    """P@1 on held-out lines, on the given test lines, and on those of them that are in the language of the file."""
    a, b = pair.split("-")
    for name, part, only in (
        ("heldout", "heldout", None),
        ("retrieval", "test", None),
        (f"retrieval_only_{b}", "test", b),
    ):
        sides = space.lines(pair, part)
        if sides is None:
            return
        if only is not None:
            kept = np.flatnonzero(space.data.written_in(pair, part) == only)
            sides = sides[0][kept], sides[1][kept]
        found.add(f"{name}_{a}_{b}", nearest_is_own(*sides))
        found.add(f"{name}_{b}_{a}", nearest_is_own(*sides[::-1]))


def nearest_is_own(a_nK: Matrix, b_nK: Matrix) -> np.ndarray:
    """Whether the nearest row of b to row i of a is row i (n)."""
    n = a_nK.shape[0]
    nearest = [dense(a_nK[i : i + ROWS] @ b_nK.T).argmax(1) for i in range(0, n, ROWS)]
    return np.concatenate(nearest) == np.arange(n)


def translate_words(found: Findings, space: Space, dictionary: Dictionary) -> None:
    """Is the likest word of the other language, or one of the five likest, a translation of the dictionary's?

    A word that the row does not know is wrong; `words_known` says how many it knows. No measure of a row that learns
    from what the dictionary was made of.
    """
    source, target = space.data.vocabularies[:2]
    asked = [word for word in dictionary.entries if word in source]
    learned_from_it = dictionary.verses and space.data.languages[1] in space.data.bible
    likest = None if learned_from_it else space.similarity([source.index[word] for word in asked])
    if likest is None:
        return
    likest[:, : len(SPECIALS)] = -np.inf
    five = torch.from_numpy(likest).topk(5, 1).indices.tolist()
    hits = np.zeros((len(dictionary.entries), 5), dtype=bool)  # those unknown stay wrong
    for i, (word, found_words) in enumerate(zip(asked, five, strict=True)):
        hits[i] = [target.words[j] in dictionary.entries[word] for j in found_words]
    found.add("words_p1", hits[:, 0])
    found.add("words_p5", np.asarray(hits.any(1)))
    found.add("words_known", np.arange(len(hits)) < len(asked))
