"""What the report shows of the blog experiments: the vectors of bloggers, and both bar charts of attribution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from tasks.authorship.attribution import INFERRED, METADATA, TFIDF, UNCONDITIONED, difference, plain_rows
from tasks.authorship.figures import attribute_map, conditional_neighbours, grouped_bars, same_age
from tasks.authorship.posts import RANDOM_GATE, RANDOM_VECTOR
from tasks.engine.result import Result
from tasks.engine.rows import mean_and_spread

if TYPE_CHECKING:
    from atd.lm import MultiplicativeLM
    from datamodules.blogs import Blogs
    from tasks.authorship.posts import Posts

CONDITIONED = f"{TFIDF}+conditioned"
CONTROLS = {  # rows that know the tuple of a post and nothing of what was learned of tuples
    f"{TFIDF}+{RANDOM_GATE}": "the same vectors, each factor's gates dealt anew to the tuples at random",
    f"{TFIDF}+{RANDOM_VECTOR}": "a random vector for each tuple",
    f"{TFIDF}+{METADATA}": "the tuple as a feature",
}


def show_vectors(result: Result, atd: MultiplicativeLM, data: Blogs, seed: int) -> None:
    """The map of all tuples, and how words change between the paper's pairs of bloggers."""
    x_AD = atd.vectors().detach()
    figure = attribute_map(x_AD.numpy(), data.attributes, seed)
    near, chance = same_age(x_AD.numpy(), data.attributes)
    result.rows.setdefault("atd", {})["nearest_same_age"] = near
    result.figure(
        "attribute_map",
        figure,
        f"t-SNE of {len(data.attributes)} attribute vectors. The nearest vector (cosine) is of the same age group for "
        f"{near:.0f} %; by chance it would be {chance:.0f} %.",
    )
    rows = conditional_neighbours(atd, data.vocabulary, data.attributes, x_AD)
    if rows:
        header = ["query", "A", "B", "common", "unique to A", "unique to B"]
        note = "The 15 nearest words under each attribute vector; the first three of each kind."
        result.table("Conditional word similarity", header, rows, note)


def show_attribution(result: Result, posts: Posts, scores: Mapping[str, np.ndarray]) -> None:
    """Experiments 1 and 2: the accuracy of all rows on all folds, as the paper's bar charts and as differences."""
    n_folds = len(next(iter(scores.values())))
    for row, accuracies in scores.items():
        result.rows[row] = mean_and_spread([{"accuracy": accuracy} for accuracy in accuracies])
    plain = plain_rows(posts.vectors)
    said = verdict(scores)
    result.verdict = said[0]
    result.text("Is it the tuple, or what was learned of it?", said)
    result.figure(
        "effect_of_conditional_embeddings",
        grouped_bars({row: (scores[row],) for row in plain}, ("",), "accuracy, %", list(CONTROLS)),
        f"Experiment 1: {len(np.unique(posts.author))}-way attribution, mean of {n_folds} folds; bars of one s.d. "
        "Conditioned vectors know the author's gender, age group and industry at test time too, and so do the hatched "
        f"controls, which know nothing else of tuples; the tuple alone gives {scores['metadata'].mean():.1f} %. The "
        "axis need not begin at zero.",
    )
    result.figure(
        "effect_of_inferred_vectors",
        grouped_bars(
            {row: (scores[row], scores[row + INFERRED]) for row in plain},
            ("without", "with"),
            "accuracy, %",
            list(CONTROLS),
        ),
        "Experiment 2: each pair without and with the attribute vector inferred from predicted attributes. The tuple "
        f"is predicted right for {scores['predicted attribute'].mean():.1f} % of test posts.",
    )
    pairs = [(f"{TFIDF}+unconditioned", TFIDF), (f"{TFIDF}+lbl", TFIDF), (CONDITIONED, UNCONDITIONED)]
    pairs += [(CONDITIONED, control) for control in CONTROLS]
    pairs += [(row + INFERRED, row) for row in plain]
    result.table(
        "Differences over folds",
        ["row", "against", "points", "p (paired t)", "p (corrected)"],
        [[a, b, *difference(scores[a], scores[b], 1 / n_folds)] for a, b in pairs],
        "The corrected p allows for training folds that overlap (Nadeau and Bengio).",
    )
    header = ["row", *(str(i) for i in range(1, n_folds + 1))]
    result.table("Accuracy by fold", header, [[row, *map(float, s)] for row, s in scores.items()])


def verdict(scores: Mapping[str, np.ndarray]) -> list[str]:
    """What conditioned vectors gain, and whether rows that know nothing but the tuple gain as much."""
    folds = len(scores[CONDITIONED])
    gain, _, p = difference(scores[CONDITIONED], scores[UNCONDITIONED], 1 / folds)
    beside = "; ".join(f"{meaning}: {scores[row].mean():.1f}" for row, meaning in CONTROLS.items())
    said = [
        f"Of the authors conditioned word vectors find {scores[CONDITIONED].mean():.1f} %, unconditioned ones "
        f"{scores[UNCONDITIONED].mean():.1f} ({gain:+z.1f} points, p = {p:.2g}). Beside them {beside}."
    ]
    better = [row for row in CONTROLS if scores[row].mean() >= scores[CONDITIONED].mean()]
    if better:
        said.append(
            f"At least as good as conditioned vectors, without anything that a model has learned of tuples: "
            f"{', '.join(better)}. So the gain is the tuple's identity, which all of these rows are told at test time."
        )
    else:
        said.append(
            "No control is as good as conditioned vectors: their gain is more than the tuple's identity, which all of "
            "these rows are told at test time."
        )
    return said
