"""What is shown of a study of matching.

S submissions, R reviewers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tasks.engine.result import Result
from tasks.engine.rows import Outcome, summary
from tasks.figures.charts import intervals
from tasks.matching.loss import interval, loss, resampled
from tasks.matching.rows import MEANING
from tasks.matching.study import Study, cost_of, judged

RIVALS = {  # published predictions, scored by the same code
    "tpms": "TPMS: counts of words, as conferences use it",
    "acl": "the system of the ACL conferences",
    "elmo": "ELMo",
    "specter": "SPECTER, pretrained on citations",
    "specter_mfr": "SPECTER+MFR, several facets of each paper",
}
AGAINST = ("tpms", "specter_mfr")
PAIRS = (  # compared reviewer by reviewer
    ("atd-mixture", "atd", "several vectors instead of one"),
    ("mixture-likelihood", "atd-likelihood", "the same, by likelihood alone"),
    ("mixture-distance", "atd-distance", "the same, by distance alone"),
    ("atd-papers", "atd-distance", "a vector for each paper instead of one"),
    ("lsi-mixture", "lsi", "several vectors without our model"),
    ("atd-mixture", "lsi-mixture", "our several vectors against these"),
    ("atd-mixture", "tfidf", "several vectors against tf-idf"),
    ("atd", "tfidf", "one vector against tf-idf"),
    ("atd-papers", "tfidf", "vectors of papers against tf-idf"),
    ("atd-fulltext", "tfidf", "the same, words learned from full texts"),
    ("tfidf+atd", "tfidf", "what our model adds to tf-idf"),
    ("tfidf+lsi", "tfidf", "what LSI adds to it"),
    ("tfidf+lsi+atd", "tfidf+lsi", "what our model adds to both"),
)


@dataclass(frozen=True)
class Judgement:
    """The cost of every row and rival for every reviewer (R), the mean over versions and seeds."""

    cost: dict[str, np.ndarray]
    weight_R: np.ndarray

    @classmethod
    def of(cls, study: Study, outcomes: Mapping[str, Sequence[Outcome]]) -> Judgement:
        assert study.ratings is not None
        cost = {row: np.mean([one.arrays["cost"] for one in found], axis=0) for row, found in outcomes.items()}
        cost |= {name: cost_of(study.ratings, said_kn(study, name)) for name in study.pool.rivals}
        return cls(cost, study.ratings.weight_R())

    def interval(self, row: str) -> tuple[float, float]:
        return interval(resampled(self.cost[row], self.weight_R))

    def difference(self, row: str, other: str) -> tuple[float, float, float]:
        """Loss of the one less that of the other, and its interval over the same reviewers."""
        draws = [resampled(self.cost[name], self.weight_R) for name in (row, other)]
        mean = loss(self.cost[row] - self.cost[other], self.weight_R)
        return mean, *interval(draws[0] - draws[1])


def said_kn(study: Study, rival: str) -> list[np.ndarray]:
    return [np.array(said) for said in study.pool.rivals[rival]]


def rows_of_metrics(study: Study, outcomes: Mapping[str, Sequence[Outcome]]) -> dict[str, dict[str, float]]:
    """Ours, and with ratings the rivals'."""
    rows = summary(outcomes)
    if study.ratings is not None:
        rows |= {name: judged(study.ratings, said_kn(study, name)) for name in study.pool.rivals}
    return rows


def intervals_of(study: Study, judgement: Judgement) -> dict[str, dict[str, float]]:
    """Of every row: the interval of its loss, and how far it is above the published systems."""
    found: dict[str, dict[str, float]] = {}
    for row in judgement.cost:
        low, high = judgement.interval(row)
        found[row] = {"loss_low": low, "loss_high": high}
        for rival in (name for name in AGAINST if name in study.pool.rivals and name != row):
            mean, low, high = judgement.difference(row, rival)
            found[row] |= {f"above_{rival}": mean, f"above_{rival}_low": low, f"above_{rival}_high": high}
    return found


def show_losses(result: Result, study: Study, judgement: Judgement) -> None:
    rivals = [rival for rival in AGAINST if rival in study.pool.rivals]
    body = []
    for row in sorted(result.rows, key=lambda row: result.rows[row]["loss"]):
        scores = result.rows[row]
        spread = f" ± {scores['loss_sd']:.4f}" if "loss_sd" in scores else ""
        shares = [f"{100 * scores[kind]:.0f}" if kind in scores else "" for kind in ("easy", "hard")]
        apart = [signed(judgement.difference(row, rival)) if row != rival else "" for rival in rivals]
        kind = f"published: {row}" if row in RIVALS else row
        low, high = judgement.interval(row)
        within = f"{low:.3f} to {high:.3f}"
        body.append([kind, f"{scores['loss']:.4f}{spread}", within, *shares, *apart, RIVALS.get(row, MEANING.get(row))])
    result.table(
        "Loss",
        [
            "",
            "loss",
            "95 % interval",
            "easy, %",
            "hard, %",
            *(f"less that of {rival}" for rival in rivals),
            "what it is",
        ],
        body,
        "How wrongly each reviewer's submissions are ordered: 0 is a perfect order, 0.5 what a constant score gives. "
        "± is over seeds; intervals are over reviewers, drawn with replacement, and so are those of differences, which "
        "are below 0 where the row is better. No rating was looked at before: what a row may choose, and the weights "
        "of a combination, are those that put held-out papers of the reviewers' own above others'.",
    )
    points = {row: (result.rows[row]["loss"], *judgement.interval(row)) for row in result.rows}
    ordered = dict(sorted(points.items(), key=lambda item: item[1][0]))
    result.figure(
        "losses", intervals(ordered, "loss"), "Loss and its 95 % interval over reviewers; smaller is better.", "Losses"
    )


def signed(difference: tuple[float, float, float]) -> str:
    mean, low, high = difference
    return f"{mean:+z.3f} ({low:+z.3f} to {high:+z.3f})"


def show_pairs(result: Result, judgement: Judgement) -> None:
    """One vector against several, and what the model adds to counting."""
    body = []
    for row, other, question in PAIRS:
        if {row, other} <= judgement.cost.keys():
            body.append([question, row, other, signed(judgement.difference(row, other))])
    result.table(
        "Compared reviewer by reviewer",
        ["what is asked", "row", "less", "difference of loss"],
        body,
        "Below 0 the row is better; a difference whose interval holds 0 may be chance.",
    )


def show_choices(result: Result, outcomes: Mapping[str, Sequence[Outcome]]) -> None:
    """What was chosen or weighed without ratings."""
    body = []
    for row, found in outcomes.items():
        facts = found[0].facts
        weighed = ", ".join(f"{name} {weight:+z.2f}" for name, weight in facts.get("weights", {}).items())
        body.append([row, f"{found[0].scores['own_above_others']:.1f}", facts.get("chosen") or weighed])
    result.table(
        "Chosen without ratings",
        ["", "own above others, %", "chosen, or weights"],
        body,
        "How often a held-out paper of a reviewer's own is scored above one that he did not write.",
    )


def verdict(result: Result, study: Study, judgement: Judgement | None, chosen: str) -> str:
    own = result.rows[chosen]["own_above_others"]
    if judgement is None:
        return (
            f"{chosen} tells best whose a paper is: it scores a reviewer's held-out paper above another's in "
            f"{own:.0f} % of the cases, and it made the scores of {len(study.asked)} submissions."
        )
    said = []
    rows = {row: scores["loss"] for row, scores in result.rows.items() if row in MEANING}
    best = min(rows, key=lambda row: rows[row])
    said.append(f"The smallest loss of our rows is that of {best}, {rows[best]:.3f}")
    if {"atd", "atd-mixture"} <= rows.keys():
        _, low, high = judgement.difference("atd-mixture", "atd")
        found = "better" if high < 0 else "worse" if low > 0 else "not distinguishable from one"
        said.append(f"several vectors for a reviewer ({rows['atd-mixture']:.3f}) are {found} ({rows['atd']:.3f})")
    if {"atd-mixture", "tfidf"} <= rows.keys():
        _, low, high = judgement.difference("atd-mixture", "tfidf")
        found = "better than" if high < 0 else "worse than" if low > 0 else "not distinguishable from"
        said.append(f"the mixture is {found} tf-idf ({rows['tfidf']:.3f})")
    return "; ".join(said) + "."


def best_without_ratings(outcomes: Mapping[str, Sequence[Outcome]]) -> str:
    """The row whose scores are handed out."""
    return max(outcomes, key=lambda row: np.mean([one.scores["own_above_others"] for one in outcomes[row]]))
