"""The report of the sentiment task: how the rows differ, what the vectors look like, what was chosen on dev."""

from __future__ import annotations

import numpy as np

from tasks.engine.canvas import COLOURS, MARKERS, axes
from tasks.engine.result import Result
from tasks.figures.charts import bars, heatmap, learning_curves
from tasks.sentiment.scores import LABELS, confusion
from tasks.sentiment.study import Outcome, Study

SHOWN = 10  # sentences whose neighbours are listed
POINTS = 1000  # sentences on the map


def write(result: Result, study: Study, runs: dict[str, list[Outcome]]) -> None:
    bank, cfg = study.bank, study.cfg
    result.text(
        "What was done",
        [
            f"{len(bank.phrases):,} distinct phrases of {len(bank.sentences['train']):,} training sentences; "
            f"{len(bank.vocabulary):,} words, {100 * bank.coverage:.1f} % of the running words with a pretrained "
            f"vector. fine: five labels; binary: positive or negative, neutral sentences left out. Mean of "
            f"{cfg.task.seeds} seeds; everything was chosen on the dev sentences.",
            "word-average: logistic regression on the mean word vector. doc2vec: gensim, same classifier. binb: naive "
            "Bayes on words and bigrams. lbl: mean of the vectors a log-bilinear model learns. atd: the paper's "
            "protocol, a vector per phrase inferred from the frozen multiplicative model. atd-labels: the labels are "
            "the attributes and Bayes' rule decides. atd-tree: x composed along the parse by the factored tensor, "
            "supervised at every node. atd-best: the mean of several tree encoders, stacked with other rows.",
        ],
    )
    best = next(row for row in ("atd-best", "atd", *runs) if row in runs)
    show_bars(result)
    show_confusion(result, study, runs[best][0], best)
    curves(result, runs)
    mapped = next((row for row in ("atd-tree", "atd", *runs) if row in runs and runs[row][0].x), None)
    if mapped is not None:
        show_map(result, study, runs[mapped][0], mapped)
        show_neighbours(result, study, runs[mapped][0], mapped)
    chosen = [[row, ", ".join(f"{k} {v:.4g}" for k, v in o[0].facts.items())] for row, o in runs.items() if o[0].facts]
    result.table("Chosen on dev", ["row", "setting of the first seed"], chosen)


def show_bars(result: Result) -> None:
    for metric in ("fine", "binary"):
        spread = {row: m.get(f"{metric}_sd", 0.0) for row, m in result.rows.items()}
        values = {row: m[metric] for row, m in result.rows.items()}
        values |= {f"paper: {n}": m[metric] for n, m in result.paper.items() if n in ("PV", "ATD")}
        result.figure(f"test_accuracy_{metric}", bars(values, "% correct", spread), "Bars: mean; lines: ± sd.")


def show_confusion(result: Result, study: Study, outcome: Outcome, row: str) -> None:
    matrix = confusion(outcome.logp["test"], study.labels["test"])
    share = 100 * matrix / np.maximum(matrix.sum(1, keepdims=True), 1)
    caption = f"{row}, test sentences: of each true label (row) the per cent given each label (column)."
    result.figure("confusion", heatmap(share, LABELS, "%"), caption)


def curves(result: Result, runs: dict[str, list[Outcome]]) -> None:
    shown = {"val/perplexity": "Exact dev perplexity after each epoch.", "val/fine": "Dev accuracy after each epoch."}
    for metric, caption in shown.items():
        found = {r: o[0].curve for r, o in runs.items() if any(metric in e for e in o[0].curve)}
        if found:
            name = "learning_curves_" + metric.split("/")[-1]
            result.figure(name, learning_curves(found, metric), caption)


def show_map(result: Result, study: Study, outcome: Outcome, row: str) -> None:
    from sklearn.manifold import TSNE

    every = np.linspace(0, len(outcome.x["test"]) - 1, min(POINTS, len(outcome.x["test"]))).astype(int)
    x, label = outcome.x["test"][every], study.labels["test"][every]  # the file is not in random order
    if len(x) < 10:
        return
    points = TSNE(perplexity=min(30, len(x) // 4), init="pca", random_state=0).fit_transform(x)
    figure, ax = axes(7.0, 6.0)
    for k, name in enumerate(LABELS):
        ax.scatter(*points[label == k].T, s=9, color=COLOURS[k], marker=MARKERS[k], label=name, alpha=0.7)
    ax.legend()
    ax.set_xticks([])
    ax.set_yticks([])
    result.figure("sentence_map", figure, f"t-SNE of {len(x)} test sentences' vectors ({row}), by true label.")


def show_neighbours(result: Result, study: Study, outcome: Outcome, row: str) -> None:
    texts, x = study.bank.sentences["test"], outcome.x["test"]
    words = study.bank.vocabulary.words

    def sentence(i: int) -> str:
        return " ".join(words[t] for t in texts.tokens[texts.offsets[i] : texts.offsets[i + 1]])

    unit = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-9)
    asked = np.linspace(0, len(x) - 1, min(SHOWN, len(x))).astype(int)
    rows = []
    for i in asked:
        cosine = unit @ unit[i]
        cosine[i] = -1
        j = int(cosine.argmax())
        rows.append([sentence(i), LABELS[texts.label[i]], sentence(j), LABELS[texts.label[j]], float(cosine[j])])
    header = ["sentence", "label", "nearest", "label", "cosine"]
    result.table("Nearest sentences", header, rows, f"By the cosine of their vectors ({row}), among test sentences.")
