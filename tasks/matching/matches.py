"""Who should review what: the table of scores, the best reviewers of each submission, and the words that decided.

S submissions, R reviewers, T words.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from atd.files import whole
from atd.likelihood import of_words
from tasks.engine.result import Result
from tasks.engine.rows import Outcome
from tasks.matching.rows import Reading
from tasks.matching.settings import OF_A_MODEL
from tasks.matching.study import Study
from tasks.matching.vectors import Vectors

LISTED = 60  # submissions in the report's table; scores.csv has all
LONG = 80  # letters of a title
SHOWN_WORDS = 150  # of a coloured submission
STRONG = 2.0  # nats by which a word is coloured fully


def write_scores(path: Path, study: Study, score_SR: np.ndarray) -> None:
    """Submissions by reviewers, as a table."""
    with whole(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["id", *study.pool.reviewers])
        for name, scores in zip(study.pool.ids, score_SR, strict=True):
            table.writerow([name, *(f"{score:.5f}" for score in scores)])


def show_matches(result: Result, study: Study, score_SR: np.ndarray, chosen: str) -> None:
    body = []
    for name, paper, scores in list(zip(study.pool.ids, study.asked, score_SR, strict=True))[:LISTED]:
        best = np.argsort(-scores)[: study.task.ranked]
        ranked = ", ".join(f"{study.pool.reviewers[r]} {scores[r]:.2f}" for r in best)
        body.append([name, study.pool.titles[paper][:LONG], ranked])
    more = len(study.asked) - len(body)
    result.table(
        "Reviewers for each submission",
        ["id", "title", "best reviewers"],
        body,
        f"By the row {chosen}, which tells best whose a held-out paper is. A score has no unit; compare submissions "
        f"of one reviewer by it. All scores are in scores.csv{f', with {more} more submissions' * (more > 0)}.",
    )


def show_words(
    result: Result, study: Study, score_SR: np.ndarray, outcomes: Mapping[str, Sequence[Outcome]], out: Path
) -> None:
    """Submissions drawn at random, their words coloured by what they say for the best reviewer."""
    chosen = np.random.default_rng(0).permutation(len(study.asked))[: study.task.shown]
    if not len(chosen) or "atd" not in {OF_A_MODEL.get(row) for row in outcomes}:
        return
    seed = study.cfg.seed
    vectors = Vectors.of(study.data, study.cfg, out, Reading(study, out).checkpoint("atd", seed))
    names = study.data.vocabulary.words
    samples = []
    for s in np.sort(chosen).tolist():
        best = int(score_SR[s].argmax())
        words, said_T = of_each_word(vectors, int(study.asked[s]), study.pool.versions[0][best])
        weights = np.clip(said_T / STRONG, -1, 1)
        label = f"{study.pool.ids[s]}: {study.pool.reviewers[best]}"
        samples.append((label, [(names[w], float(x)) for w, x in zip(words, weights, strict=True)]))
    result.marked(
        "What decided",
        [
            "Blue words are likelier in a paper of the reviewer named than in any, by his one vector; orange ones are "
            "less likely. Unknown words say nothing."
        ],
        samples,
    )


def of_each_word(vectors: Vectors, paper: int, own: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """The first words of a paper, and what each says for the reviewer, in nats (T)."""
    x_1D = vectors.joint([tuple(own)])
    text = vectors.papers.take(np.array([paper])).heads(SHOWN_WORDS)
    x = torch.from_numpy(np.vstack([x_1D, np.zeros_like(x_1D)])).to(vectors.model.b)
    said_T = np.zeros(len(text.tokens))
    for at, log_p_B2 in of_words(vectors.model, text, x):
        said_T[at] = log_p_B2[:, 0] - log_p_B2[:, 1]
    return text.tokens, said_T
