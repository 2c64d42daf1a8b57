"""Language vectors of one model over many languages, and whether they know families (section 3.2, the conclusion).

A languages, D attribute dim. Vectors of several seeds are not comparable, their similarities are: figures show the
mean correlation over seeds, the score is the mean of the seeds' scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from atd.attributes import correlations
from tasks.engine.result import Result
from tasks.engine.rows import mean_and_spread
from tasks.engine.settings import typed
from tasks.engine.wording import counted
from tasks.figures.charts import heatmap, learning_curves
from tasks.figures.maps import coloured, dendrogram, project, scatter_map
from tasks.languages.families import NAMES, agreement, chance, groups, nearest
from tasks.languages.settings import FITS, Settings
from tasks.learning.comparison import compare_models
from tasks.learning.corpora import open_corpus

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from datamodules.languages import Languages

__all__ = ["FITS", "Settings", "run"]

LEVELS = ("family", "branch")
BUCKETS = 1 << 16


def run(cfg: DictConfig, out: Path) -> Result:
    task = typed(Settings, cfg.task)
    data = cast("Languages", open_corpus(cfg))
    models = compare_models(cfg, data, out, {"atd": cfg.model}, seeds=task.seeds)
    vectors = [models.trained("atd", i).model.vectors().detach().numpy() for i in range(task.seeds)]
    similar = [correlations(centred(x_AD)) for x_AD in vectors]
    rows = {"atd": scores(similar, data.attributes) | {"perplexity": models.rows["atd"]["perplexity"]}}
    if len(similar) > 1:
        rows["atd, seeds averaged"] = scores([np.mean(similar, axis=0)], data.attributes)
    rows["chance"] = {f"{level}_accuracy": chance(groups(data.attributes, level)) for level in LEVELS}
    rows["char-ngrams"] = scores([ngram_similarity(data)], data.attributes)
    telling = next(
        (level for level in LEVELS if rows["chance"][f"{level}_accuracy"] < 100), "family"
    )  # one family: branch
    result = Result("languages", f"atd/{telling}_accuracy", rows)
    result.verdict = verdict(rows, telling)
    explain(result, data, task)
    result.figure("learning_curves", learning_curves(models.curves), "Exact validation perplexity after each epoch.")
    show(result, np.mean(similar, axis=0), vectors[0], data.attributes, task, cfg.seed)
    return result


def verdict(rows: Mapping[str, Mapping[str, float]], level: str) -> str:
    others = {"char-ngrams": "by counts of characters", "chance": "by chance"}
    beside = ", ".join(f"{rows[name][f'{level}_accuracy']:.1f} {how}" for name, how in others.items())
    own = rows["atd"][f"{level}_accuracy"]
    return f"The nearest language is of the same {level} for {own:.1f} % of the languages by their vectors; {beside}."


def centred(x_AD: np.ndarray) -> np.ndarray:
    """Without what all languages have in common: they start close together, so raw vectors all correlate."""
    return x_AD - x_AD.mean(0)


def scores(similar: list[np.ndarray], languages: list[str]) -> dict[str, float]:
    """How often the nearest language is a relative, mean and spread over some similarities (A×A each)."""
    return mean_and_spread(
        [{f"{level}_accuracy": agreement(s, groups(languages, level)) for level in LEVELS} for s in similar]
    )


def ngram_similarity(data: Languages) -> np.ndarray:
    """The baseline: cosine between square roots of the frequencies of character 1- to 3-grams of the same lines."""
    from sklearn.feature_extraction.text import HashingVectorizer

    texts = [" ".join(line or "" for line in lines.to_pylist()) for lines in data.texts().values()]
    if data.romanise:
        from datamodules.languages import plain

        texts = [plain(text, True) for text in texts]
    counts = HashingVectorizer(
        analyzer="char_wb", ngram_range=(1, 3), n_features=BUCKETS, norm=None, alternate_sign=False
    ).transform(texts)
    root = np.sqrt(counts.toarray() / np.maximum(np.asarray(counts.sum(1)), 1))
    return correlations(centred(root))


def explain(result: Result, data: Languages, task: Settings) -> None:
    train = data.encoded["train"]
    units = "words, each language with its own vocabulary" if data.unit == "word" else "characters of one alphabet"
    eligible = sum(groups(data.attributes).count(g) > 1 for g in groups(data.attributes))
    result.text(
        "What was done",
        [
            f"One multiplicative language model over {units}, in {len(data.attributes)} languages, from "
            f"{len(train.tokens):,} running {data.unit}s"
            + (" of the same verses in every language" if data.matched else "")
            + f"; {counted(task.seeds, 'seed')}. Each language has one vector.",
            f"family_accuracy: per cent of the {eligible} languages with a relative here whose nearest language, by "
            "correlation of vectors less their mean, is of their family; branch_accuracy the same for branches such as "
            "Slavic. Seeds averaged: by the mean of the seeds' correlations. char-ngrams compares frequencies of "
            "character n-grams of the same text.",
        ],
    )


def show(
    result: Result, similar: np.ndarray, x_AD: np.ndarray, languages: list[str], task: Settings, seed: int
) -> None:
    """Figures of the language vectors, and the nearest language of each: `similar` is the mean over seeds."""
    named = [NAMES.get(code, code) for code in languages]
    family = groups(languages)
    branch = groups(languages, "branch")
    if len(languages) > 2:
        order, tree = dendrogram(centred(x_AD), named)
        result.figure("family_tree", tree, f"Average linkage on 1 − correlation, seed {seed}.")
        picture = heatmap(similar[np.ix_(order, order)], [named[i] for i in order], "correlation")
        result.figure("correlation", picture, "Correlation of language vectors, the mean over seeds.")
        points = project(centred(x_AD), task.method, task.perplexity, seed)
        level, group = ("family", family) if len(set(family)) > 1 else ("branch", branch)
        caption = f"Language vectors in the plane, near = alike, seed {seed}, coloured by {level}."
        result.figure("language_map", scatter_map(points, named, coloured(group)), caption)
    body = [
        [named[i], family[i], branch[i], named[j], float(similar[i, j]), "yes" if family[i] == family[j] else ""]
        for i, j in enumerate(nearest(similar))
    ]
    result.table("Nearest language", ["language", "family", "branch", "nearest", "correlation", "related"], body)
