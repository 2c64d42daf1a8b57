"""The report: what was done, topics across languages, and the words of one row side by side in its languages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from atd.attributes import correlations
from atd.contrast import precision_at_1
from atd.neighbours import unit
from tasks.crosslingual.words import GROUPS, collocation_rows, neighbour_rows, word_pairs
from tasks.engine.canvas import COLOURS, MARKERS, axes, picture
from tasks.engine.result import Result, Table
from tasks.figures.charts import heatmap
from tasks.figures.maps import scatter_map

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from atd.ranking import RankingModel
    from datamodules.europarl_rcv import EuroparlRCV
    from tasks.crosslingual.settings import Settings
    from tasks.crosslingual.topics import Verdict

PAPER = {  # Reuters, of section 3.2
    "atd": {"rcv_en_de": 80.8, "rcv_de_en": 71.8},
    "atd+": {"rcv_en_de": 83.4, "rcv_de_en": 72.9},
    "atd-low": {"rcv_en_de": 74.7, "rcv_de_en": 69.7},
    "separate": {"rcv_en_de": 63.8, "rcv_de_en": 67.1},
    "I-Matrix": {"rcv_en_de": 77.6, "rcv_de_en": 71.1},
    "BiCVM+": {"rcv_en_de": 86.2, "rcv_de_en": 76.9},
    "BAE-corr": {"rcv_en_de": 91.8, "rcv_de_en": 72.8},
}


SETS = {"sib200": "SIB-200", "reuters": "Reuters"}


class BothDirections(Result):
    """The table of results has a measure in each column, both directions and the spread over seeds in each cell."""

    def score_table(self) -> Table:
        rows = self.rows | {f"paper: {name}": scores for name, scores in self.paper.items()}
        metrics = dict.fromkeys(metric for scores in rows.values() for metric in scores if not metric.endswith("_sd"))
        columns = {metric: column_of(metric) for metric in metrics}
        body = [
            [
                row,
                *(cell(scores, [m for m in columns if columns[m] == name]) for name in dict.fromkeys(columns.values())),
            ]
            for row, scores in rows.items()
        ]
        return Table(
            "Results",
            ["", *dict.fromkeys(columns.values())],
            body,
            "Per cent; from the first language to the second / back.",
        )


def column_of(metric: str) -> str:
    """sib200_en_de and sib200_de_en are both sib200."""
    directed = re.fullmatch(r"(.+)_[a-z]{2,3}_[a-z]{2,3}", metric)
    return directed[1] if directed else metric


def cell(scores: Mapping[str, float], metrics: Sequence[str]) -> str:
    """76.5 ± 1.2 / 77.1 ± 1.2."""
    numbers = [
        f"{scores[m]:.1f}" + (f" ± {scores[f'{m}_sd']:.1f}" if f"{m}_sd" in scores else "")
        for m in metrics
        if m in scores
    ]
    return " / ".join(numbers)


def explain(result: Result, dictionary: tuple[str, int] | None, sample: bool) -> None:
    """What the rows and metrics mean; the paper's numbers stand apart when none of ours is on Reuters.

    `dictionary`: where that of the words comes from, and how many words it asks for. Nothing stands beside a `sample`.
    """
    name, words = dictionary or ("", 0)
    result.text(
        "What was done",
        [
            "A sentence is the sum of its words' vectors under its language's vector, at unit norm; training brings "
            "translations together: Σ_k max(0, α + ‖v(S) − v(S')‖² − ‖v(S) − v(C_k)‖²).",
            "retrieval: per cent of sentences whose nearest sentence among all of the other side is the translation. "
            "heldout are lines taken evenly from the training file, of the same sittings; retrieval is the given test "
            "file, of later sittings, most of whose lines were never translated and are in other languages than the "
            "file says; retrieval_only keeps its lines that are in the language.",
            "Topics are learned from documents of one language and judged in another by the averaged perceptron. The "
            "paper's numbers are on Reuters news, which needs an agreement; SIB-200 has sentences and seven topics.",
            "Controls are judged by the same measures: lexicon gives a word's tf-idf to the words it shares most "
            "sentence pairs with (Dice's coefficient) and learns nothing; lsi is a truncated SVD of the pairs; "
            "spelling compares character n-grams; majority names the commonest topic. ceiling learns topics in the "
            "language they are judged in, by tf-idf of words: no bound, since translations bring words of like meaning "
            "together, which tf-idf keeps apart.",
            "words: the likest word of the other language is right (p1), or one of the five likest (p5), for "
            f"{words} words of a dictionary that owes nothing to the training pairs ({name}); a word that a row does "
            "not know counts as wrong."
            if dictionary
            else "words: there is no dictionary to judge them by (task.dictionary).",
        ],
    )
    if not result.paper and not sample:
        body = [[row, scores["rcv_en_de"], scores["rcv_de_en"]] for row, scores in PAPER.items()]
        note = "Other texts and four topics, not seven."
        result.table("The paper, on Reuters", ["row", "en → de", "de → en"], body, note)


def show_topics(result: Result, verdicts: dict[str, list[Verdict]], task: Settings) -> None:
    """Accuracy and recall after all training documents, and accuracy against their number, of every row."""
    body, recall = [], []
    for name, judged in verdicts.items():
        most: dict[str, int] = {}  # training documents, of every set
        for v in judged:
            most[v.source] = max(most.get(v.source, 0), v.documents)
        for v in judged:
            if v.documents == most[v.source]:
                where = [name, v.source, f"{v.learned} → {v.judged}", v.weighting, v.classifier]
                body.append([*where, v.accuracy, f"{v.low:.1f} … {v.high:.1f}", v.majority])
                recall += [[*where, k, r] for k, r in v.recall.items() if v.classifier == "perceptron"]
    header = ["row", "topics", "languages", "weighting", "classifier"]
    result.table("Topics across languages", [*header, "accuracy, %", "95 % interval", "majority, %"], unique(body))
    result.table("Recall of each topic", [*header, "topic", "recall, %"], unique(recall))
    chosen = (task.weighting, "tfidf"), (task.classifier, "majority")  # of a model, of a control
    for source in dict.fromkeys(v.source for judged in verdicts.values() for v in judged):
        curves = {
            name: [v for v in judged if v.source == source and v.weighting in chosen[0] and v.classifier in chosen[1]]
            for name, judged in verdicts.items()
        }
        caption = "Accuracy against the number of training documents."
        result.figure(f"topics_{source}", size_curves(curves), caption, f"Topics of {SETS.get(source, source)}")


def unique(rows: list[list]) -> list[list]:
    """Each row once: with few documents a point of the curve is the same verdict as the whole."""
    return [list(row) for row in dict.fromkeys(map(tuple, rows))]


@picture
def size_curves(verdicts: dict[str, list[Verdict]]) -> Figure:
    """A colour for every row, a full line for one direction and a dashed one for the other."""
    figure, ax = axes()
    for i, (name, judged) in enumerate(verdicts.items()):
        directions = dict.fromkeys((v.learned, v.judged) for v in judged)
        for style, (a, b) in zip(("-", "--"), directions, strict=False):
            curve = sorted({v.documents: v.accuracy for v in judged if (v.learned, v.judged) == (a, b)}.items())
            colour = COLOURS[i % len(COLOURS)]
            marker = MARKERS[(i + i // len(COLOURS)) % len(MARKERS)]  # another one where a colour comes again
            ax.plot(*zip(*curve, strict=True), style, marker=marker, color=colour, label=f"{name} {a} → {b}")
    ax.set_xscale("log")
    ax.set_xlabel("training documents")
    ax.set_ylabel("accuracy, %")
    ax.grid(alpha=0.3)
    ax.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.01, 1))  # beside the curves, not over them
    return figure


def show_words(result: Result, model: RankingModel, data: EuroparlRCV, seed: int) -> None:
    """Words and collocations beside their nearest in every language, maps of word groups, the language vectors."""
    languages = data.languages
    result.table("Nearest words across languages", ["query", *languages], neighbour_rows(model, data))
    result.table(
        "Nearest collocations",
        ["query", *languages],
        collocation_rows(model, data),
        "Sums of conditioned word vectors at unit norm, among the most frequent runs of one to three words.",
    )
    if languages[:2] == ["en", "de"]:
        for group in GROUPS:
            show_group(result, model, data, group, seed)
    if len(languages) > 2:
        x_AD = model.vectors().detach().numpy()
        result.figure(
            "languages",
            heatmap(correlations(x_AD), languages, "correlation"),
            "Correlation between the vectors of languages.",
        )


def show_group(result: Result, model: RankingModel, data: EuroparlRCV, group: str, seed: int) -> None:
    """A map of words of one kind in both languages: translations should be neighbours."""
    from sklearn.manifold import TSNE

    source, target = data.vocabularies[:2]
    pairs = [(a, b) for a, b in word_pairs(group) if a in source and b in target]
    if len(pairs) < 4:
        return
    ids = [[source.index[a] for a, _ in pairs], [target.index[b] for _, b in pairs]]
    vectors = torch.cat([unit(model.embeddings(i)[torch.tensor(ids[i])]) for i in (0, 1)]).numpy()
    near = precision_at_1(*(torch.from_numpy(v) for v in np.split(vectors, 2)))
    tsne = TSNE(perplexity=min(8, len(vectors) / 4), init="pca", random_state=seed)
    names = [a for a, _ in pairs] + [b for _, b in pairs]
    groups = ["English"] * len(pairs) + ["German"] * len(pairs)
    result.figure(
        f"words_{group}",
        scatter_map(tsne.fit_transform(vectors), names, groups),
        f"t-SNE of {len(pairs)} word pairs ({group}). {near:.0f} % of the English words have their translation as the "
        "nearest German word of the group.",
        f"Words and their translations: {group}",
    )
