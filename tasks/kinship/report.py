"""What is shown of a study of kinship."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tasks.engine.canvas import COLOURS, PALE, axes, picture, shortened
from tasks.engine.result import Result
from tasks.engine.rows import Outcome
from tasks.figures.charts import heatmap, learning_curves
from tasks.figures.maps import OTHER, coloured, project, scatter_map
from tasks.kinship.rows import MEANING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tasks.kinship.judgement import Judge
    from tasks.kinship.settings import Settings

PAPERS = ("eng", "fra", "deu", "ces", "slk")  # the five languages of the paper
SHOWN = {"family_accuracy": "family %", "branch_accuracy": "branch %", "gqd": "quartets, UPGMA", "gqd_nj": "NJ"}


def explain(result: Result, judge: Judge) -> None:
    counted = [f"{name}: {MEANING[name]}." for name in result.rows if name in MEANING]
    data = judge.data
    result.text(
        "What was done",
        [
            f"One model of {data.meanings:,} verses in {len(data.attributes)} languages, written in Latin letters: "
            f"which of {data.units:,} letter {data.n}-grams a verse has, from its meaning and its language. How often "
            "a language uses each n-gram at all is counted and given. So the language's vector has only to say how "
            "meanings become forms.",
            "family_accuracy, branch_accuracy: per cent of the languages with a relative here whose nearest language "
            "is of the same family, or branch of it.",
            "gqd: the share of quartets of languages that a tree by average linkage resolves otherwise than the given "
            "tree, lower is better; gqd_nj by neighbour joining; gqd_within inside families.",
            "typology: per cent of the features of grammar that the ten nearest languages of other families have "
            "right; typology_across_families: the rank correlation of similarity and of agreement in grammar, over "
            "pairs of languages of different families; typology_beyond_letters: the same with the similarity of "
            "n-grams held fixed.",
            "perplexity: of the n-grams of held-out verses. Languages are compared by cosines of centred vectors.",
            *counted,
        ],
    )


def show_details(result: Result) -> None:
    """The same by vectors that are not centred, and how much the scores depend on which languages are there."""
    body = [[name, *(row.get(metric) for metric in SHOWN)] for name, row in result.details.items()]
    note = "noise: standard deviations over random nine tenths of the languages, of the first seed, centred."
    result.table("Not centred; noise", ["row", *SHOWN.values()], body, note)


def show_rivals(result: Result, judge: Judge, outcomes: Mapping[str, Sequence[Outcome]]) -> None:
    """Published vectors, each beside ours on the languages it covers; the better of raw and centred for every row."""
    body = []
    for n, found in judge.beside(outcomes):
        for row, of in found.items():
            result.details[f"{row}, on {n} languages"] = of
            body.append([row, n, *(better(of, metric) for metric in SHOWN)])
    if body:
        note = "Of raw and centred cosines the better one, for every row and score alike. Quartets: lower is better."
        result.table("Beside published vectors", ["vectors", "languages", *SHOWN.values()], body, note)


def better(row: Mapping[str, float], metric: str) -> float:
    values = row[metric], row[f"{metric}_raw"]
    return max(values) if metric.endswith("accuracy") else min(values)


def show_curves(result: Result, outcomes: Mapping[str, Sequence[Outcome]]) -> None:
    curves = {name: of[0].facts["curve"] for name, of in outcomes.items() if "curve" in of[0].facts}
    result.figure("learning_curves", learning_curves(curves), "Perplexity of held-out verses after each epoch.")


def show_tree(result: Result, judge: Judge, similar_nn: np.ndarray) -> None:
    names = [language.name for language in judge.truth.languages]
    families = judge.truth.families.tolist()
    result.figure(
        "family_tree",
        coloured_tree(similar_nn, names, coloured(families)),
        "Average linkage on 1 − centred cosine, the mean over seeds. Names have the colour of their family.",
    )
    five = [judge.codes.index(iso) for iso in PAPERS if iso in judge.codes]
    if len(five) > 1:
        picture_of = heatmap(similar_nn[np.ix_(five, five)], [names[i] for i in five], "cosine")
        result.figure("paper_languages", picture_of, "Those of the paper's five languages that are here.")


@picture
def coloured_tree(similar_nn: np.ndarray, names: Sequence[str], groups: Sequence[str]) -> Figure:
    """A dendrogram whose names are coloured by group; it grows with the number of names."""
    from matplotlib.lines import Line2D
    from scipy.cluster.hierarchy import dendrogram, linkage
    from scipy.spatial.distance import squareform

    distance = np.clip(1 - similar_nn, 0, 2)
    np.fill_diagonal(distance, 0)
    tree = linkage(squareform((distance + distance.T) / 2, checks=False), "average")
    figure, ax = axes(8.0, max(3.0, 0.13 * len(names) + 0.8))
    drawn = dendrogram(
        tree, orientation="right", ax=ax, color_threshold=0, above_threshold_color=PALE, leaf_font_size=7,
        labels=[shortened(name, 40) for name in names],
    )  # fmt: skip
    kinds = sorted(set(groups), key=lambda kind: (kind == OTHER, kind))
    colour = {kind: PALE if kind == OTHER else COLOURS[i % len(COLOURS)] for i, kind in enumerate(kinds)}
    for label, leaf in zip(ax.get_yticklabels(), drawn["leaves"], strict=True):
        label.set_color(colour[groups[leaf]])
    handles = [Line2D([], [], color=colour[kind], linewidth=6, label=kind) for kind in kinds]
    ax.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, fontsize=9)
    ax.set_xlabel("1 − cosine")
    ax.spines[["top", "right", "left"]].set_visible(False)
    return figure


def show_map(result: Result, judge: Judge, x_AF: np.ndarray, task: Settings, seed: int) -> None:
    x_nF = x_AF[judge.scored]
    points = project(x_nF - x_nF.mean(0), "tsne", task.perplexity, seed)
    names = [language.name for language in judge.truth.languages]
    drawn = scatter_map(points, names, coloured(judge.truth.families.tolist()))
    result.figure("language_map", drawn, f"Language vectors by t-SNE, seed {seed}, coloured by family.")


def show_neighbours(result: Result, judge: Judge, similar_nn: np.ndarray) -> None:
    other_nn = similar_nn.copy()
    np.fill_diagonal(other_nn, -np.inf)
    languages = judge.truth.languages
    body = []
    for i, j in enumerate(other_nn.argmax(1)):
        one, near = languages[i], languages[j]
        related = "branch" if one.branch == near.branch else "family" if one.family == near.family else ""
        body.append([one.name, one.family, near.name, near.family, float(similar_nn[i, j]), related])
    header = ["language", "family", "nearest", "its family", "cosine", "same"]
    result.table("Nearest language", header, body)
