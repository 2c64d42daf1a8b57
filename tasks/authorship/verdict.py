"""What the report says of attribution where nothing is given at test time: a verdict, differences with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tasks.authorship.attribution import TFIDF, UNCONDITIONED, difference, interval
from tasks.authorship.inferred import BY_AUTHOR, BY_POST, MATCH, RANDOM
from tasks.engine.result import Result
from tasks.engine.rows import Outcome, mean_and_spread

ROWS = {
    TFIDF: "words as they are written",
    UNCONDITIONED: "with the document vector of unconditioned word vectors",
    BY_POST: "conditioned on the tuple inferred from the post, in training and test",
    BY_AUTHOR: "in training conditioned on the tuple inferred from all of the author's posts",
    RANDOM: "as conditioned-post, each tuple having the vector of a random one",
    MATCH: "no document vector; how well the post's tuple matches that of each candidate's training posts",
}
PAIRS = [(row, TFIDF) for row in ROWS if row != TFIDF] + [(BY_POST, UNCONDITIONED), (BY_POST, RANDOM)]
TUPLE = "inferred tuple"  # a row of metrics.json, and what it says beside the rows
MEANINGS = {
    "majority": "the commonest tuple is right, % of test posts",
    "accuracy": "the likeliest tuple is right, % of test posts",
    "accuracy_training_posts": "the same, % of training posts",
    "accuracy_authors": "inferred from all training posts of an author: right, % of authors",
    "calibration_error_before": "expected calibration error on test posts, as predicted, %",
    "calibration_error": "the same after the power, %",
    "power": "power of a post's probabilities",
    "power_authors": "power of the summed evidence of an author's posts",
    "match_weight": "weight of the match, chosen on held-out training posts",
}


def show_inferred(result: Result, measured: Mapping[str, np.ndarray], outcomes: Sequence[Outcome]) -> None:
    """Rows of metrics, a verdict, and three tables; `measured` are accuracies that another part has found."""
    n_folds = len(outcomes)
    found = {row: np.array([outcome.scores[row] for outcome in outcomes]) for row in outcomes[0].scores}
    scores = {row: found[row] if row in found else measured[row] for row in ROWS}
    for row, accuracies in scores.items():
        result.rows[row] = mean_and_spread([{"accuracy": accuracy} for accuracy in accuracies])
    tuples = {name: float(np.mean([outcome.facts[name] for outcome in outcomes])) for name in MEANINGS}
    result.rows[TUPLE] = mean_and_spread([{"accuracy": outcome.facts["accuracy"]} for outcome in outcomes])
    result.details[TUPLE] = tuples
    result.text("Does the tuple help where nothing is given at test time?", [verdict(scores), how_well(tuples)])
    result.table(
        "Nothing given at test time",
        ["row", "what it has", "accuracy, %", "s.d. of folds"],
        [[row, has, result.rows[row]["accuracy"], result.rows[row]["accuracy_sd"]] for row, has in ROWS.items()],
        "The first and the last row have no document vector beside tf-idf. None is told the tuple of a test post.",
    )
    result.table(
        "Nothing given at test time: differences over folds",
        ["row", "against", "points", "from", "to", "p (corrected)"],
        [
            [a, b, *interval(scores[a], scores[b], 1 / n_folds), difference(scores[a], scores[b], 1 / n_folds)[2]]
            for a, b in PAIRS
        ],
        "95 % intervals, which allow for training folds that overlap (Nadeau and Bengio).",
    )
    result.table(
        "The tuple, inferred from words",
        ["", "mean of folds"],
        [[meaning, tuples[name]] for name, meaning in MEANINGS.items()],
        "No post of an author teaches the predictor that judges that author's training posts.",
    )


def verdict(scores: Mapping[str, np.ndarray]) -> str:
    """Whether conditioning adds to tf-idf, and whether what was learned of tuples is why."""
    share = 1 / len(scores[TFIDF])
    gains = {pair: interval(scores[pair[0]], scores[pair[1]], share) for pair in PAIRS}
    helps = {pair: low > 0 for pair, (_, low, _) in gains.items()}
    if not helps[BY_POST, TFIDF]:
        claim = "A document vector conditioned on the inferred tuple adds nothing to tf-idf that these folds could show"
    elif not helps[BY_POST, UNCONDITIONED]:
        claim = "A document vector adds to tf-idf, and conditioning it on the inferred tuple adds nothing to that"
    elif not helps[BY_POST, RANDOM]:
        claim = "Conditioning adds, but so do the vectors of random tuples: it is not what was learned of tuples"
    else:
        claim = "Conditioning on the inferred tuple adds, and more than the vectors of random tuples do"
    matched = "adds" if helps[MATCH, TFIDF] else "adds nothing that can be shown"
    return (
        f"{claim}: {BY_POST} has {scores[BY_POST].mean():.1f} %, {against(gains, BY_POST, TFIDF)}, "
        f"{against(gains, BY_POST, UNCONDITIONED)} and {against(gains, BY_POST, RANDOM)}. Matching the tuple of the "
        f"post with those of the candidates {matched}: {against(gains, MATCH, TFIDF)}."
    )


def against(gains: Mapping[tuple[str, str], tuple[float, float, float]], row: str, other: str) -> str:
    points, low, high = gains[row, other]
    return f"{points:+z.2f} points to {other} (95 % interval {low:+z.2f} to {high:+z.2f})"


def how_well(tuples: Mapping[str, float]) -> str:
    return (
        f"The tuple of a test post is inferred rightly for {tuples['accuracy']:.1f} %, where always naming the "
        f"commonest has {tuples['majority']:.1f}; its probability is off by {tuples['calibration_error']:.1f} points, "
        f"{tuples['calibration_error_before']:.1f} before the power."
    )
