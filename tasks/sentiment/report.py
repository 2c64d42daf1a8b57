"""The report of the sentiment task: how the rows differ, what the vectors look like, what was chosen on dev."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from atd.detokenise import detokenised
from datamodules.treebank import LABELS, lines
from tasks.engine.canvas import COLOURS, MARKERS, axes, picture
from tasks.engine.result import Result
from tasks.engine.rows import Outcome
from tasks.engine.wording import counted
from tasks.figures.charts import bars, heatmap, learning_curves
from tasks.sentiment.scores import confusion
from tasks.sentiment.study import Study, arrays_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WITH_CLASSIFIER, IN_VECTORS = "with the classifier", "into the vectors"
WHAT = {  # by row: what it is, and where it is told the labels
    "word-average": ("the mean word vector, logistic regression", WITH_CLASSIFIER),
    "mlp": ("the mean word vector, a network with one hidden layer", WITH_CLASSIFIER),
    "binb": ("naive Bayes on words and bigrams", WITH_CLASSIFIER),
    "doc2vec": ("gensim's paragraph vectors, all texts inferred, logistic regression", WITH_CLASSIFIER),
    "lbl": ("the mean of word vectors that a log-bilinear model learns, logistic regression", WITH_CLASSIFIER),
    "atd": ("x held at the word average while the weights learn, then all texts inferred alike", WITH_CLASSIFIER),
    "atd-paper": ("the paper to the letter: x and weights learn together by SGD, held-out x by SGD", WITH_CLASSIFIER),
    "atd-joint": (
        "x and weights learn together, held-out x by SGD; model and optimiser as configured",
        WITH_CLASSIFIER,
    ),
    "atd-labels": ("the labels are the attributes, Bayes' rule decides", IN_VECTORS),
    "atd-context": ("one supervised encoder: x pooled from context products", IN_VECTORS),
    "atd-tree": ("one supervised encoder: x composed along the parse by the factored tensor", IN_VECTORS),
    "atd-refined": ("x of one supervised tree encoder, corrected by the multiplicative model", IN_VECTORS),
    "atd-best": ("an ensemble of supervised tree encoders, stacked with other rows", IN_VECTORS),
}
SHOWN = 10  # sentences whose neighbours are listed
POINTS = 1000  # sentences on the map
CLASSES = {"fine": "Test accuracy, five labels", "binary": "Test accuracy, positive or negative"}
CURVES_OF = {"val/perplexity": "Learning curves", "val/fine": "Learning curves of the encoders"}
CURVES = {"val/perplexity": "Exact dev perplexity after each epoch.", "val/fine": "Dev accuracy after each epoch."}


def write(result: Result, study: Study, outcomes: Mapping[str, Sequence[Outcome]], best: str) -> None:
    """Pictures are of every row's first seed."""
    first = {name: found[0] for name, found in outcomes.items()}
    explain(result, study)
    show_bars(result)
    show_confusion(result, study, first[best], best)
    show_curves(result, first)
    with_vectors = [name for name, outcome in first.items() if arrays_of(outcome, "x")]
    mapped = next((name for name in ("atd-tree", "atd", *with_vectors) if name in with_vectors), None)
    if mapped is not None:
        x = arrays_of(first[mapped], "x")["test"]
        show_map(result, x, study.labels["test"], mapped)
        show_neighbours(result, study, x, mapped)
    chosen = {name: outcome.facts["chosen"] for name, outcome in first.items()}
    table = [[name, ", ".join(f"{k} {v:.4g}" for k, v in facts.items())] for name, facts in chosen.items() if facts]
    result.table("Chosen on dev", ["row", "setting of the first seed"], table)


def explain(result: Result, study: Study) -> None:
    result.text(
        "What was done",
        [
            f"{len(study.texts['train']):,} distinct phrases of {len(study.labels['train']):,} training sentences; "
            f"{len(study.data.vocabulary):,} words, {100 * study.words.coverage:.1f} % of the running words with a "
            "pretrained vector. fine: five labels; binary: positive or negative, neutral sentences left out. Mean of "
            f"{counted(study.task.seeds, 'seed')}; everything was chosen on the dev sentences.",
            "There are two kinds of row. Where labels come in only with the classifier, the vectors are what the paper "
            "speaks of; their control is word-average, with the same classifier, and mlp says what a better classifier "
            "alone would add. Where labels shape the vectors, the row is a supervised encoder; its rivals are other "
            "such encoders.",
        ],
    )
    rows = [[name, *WHAT[name]] for name in result.rows]
    result.table("What each row is", ["row", "what it is", "labels come in"], rows)


def show_bars(result: Result) -> None:
    for metric in ("fine", "binary"):
        spread = {row: m.get(f"{metric}_sd", 0.0) for row, m in result.rows.items()}
        values = {row: m[metric] for row, m in result.rows.items()}
        values |= {f"paper: {n}": m[metric] for n, m in result.paper.items() if n in ("PV", "ATD")}
        caption = f"{CLASSES[metric]}: the mean over seeds, and their standard deviation."
        result.figure(f"test_accuracy_{metric}", bars(values, "% correct", spread), caption, CLASSES[metric])


def show_confusion(result: Result, study: Study, outcome: Outcome, row: str) -> None:
    matrix = confusion(arrays_of(outcome, "logp")["test"], study.labels["test"])
    share = 100 * matrix / np.maximum(matrix.sum(1, keepdims=True), 1)
    caption = f"{row}, test sentences: of each true label (row) the per cent given each label (column)."
    result.figure("confusion", heatmap(share, LABELS, "%"), caption)


def show_curves(result: Result, outcomes: Mapping[str, Outcome]) -> None:
    curves = {name: outcome.facts["curve"] for name, outcome in outcomes.items()}
    for metric, caption in CURVES.items():
        found = {name: curve for name, curve in curves.items() if any(metric in epoch for epoch in curve)}
        if found:
            name = "learning_curves_" + metric.split("/")[-1]
            result.figure(name, learning_curves(found, metric), caption, CURVES_OF[metric])


def show_map(result: Result, x: np.ndarray, label: np.ndarray, row: str) -> None:
    from sklearn.manifold import TSNE

    every = np.linspace(0, len(x) - 1, min(POINTS, len(x))).astype(int)  # the file is not in random order
    x, label = x[every], label[every]
    if len(x) < 10:
        return
    points = TSNE(perplexity=min(30, len(x) // 4), init="pca", random_state=0).fit_transform(x)
    caption = f"t-SNE of {len(x):,} test sentences' vectors ({row}), by true label."
    result.figure("sentence_map", sentence_map(points, label), caption)


@picture
def sentence_map(points: np.ndarray, label: np.ndarray) -> Figure:
    figure, ax = axes(7.0, 6.0)
    for k, name in enumerate(LABELS):
        chosen = points[label == k]
        ax.scatter(chosen[:, 0], chosen[:, 1], s=9, color=COLOURS[k], marker=MARKERS[k], label=name, alpha=0.7)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=5, frameon=False, columnspacing=1)  # not over the points
    ax.set_xticks([])
    ax.set_yticks([])
    return figure


def show_neighbours(result: Result, study: Study, x: np.ndarray, row: str) -> None:
    texts = study.texts["test"]
    words = lines(texts)
    labels = [LABELS[k] for k in texts.columns["label"]]
    unit = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-9)
    rows = []
    for i in np.linspace(0, len(x) - 1, min(SHOWN, len(x))).astype(int):
        cosine = unit @ unit[i]
        cosine[i] = -1
        j = int(cosine.argmax())
        one, near = (detokenised(" ".join(words[k])) for k in (i, j))
        rows.append([one, labels[i], near, labels[j], float(cosine[j])])
    header = ["sentence", "label", "nearest", "label", "cosine"]
    result.table("Nearest sentences", header, rows, f"By the cosine of their vectors ({row}), among test sentences.")
