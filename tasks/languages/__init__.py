"""Language vectors of one model over many languages, and whether they know families (section 3.2, the conclusion).

A languages, D attribute dim. Vectors of several seeds are not comparable, their similarities are: figures show the
mean correlation over seeds, the score is the mean of the seeds' scores.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from omegaconf import OmegaConf

from atd.attributes import correlations
from tasks.engine.result import Result
from tasks.figures.charts import heatmap, learning_curves
from tasks.figures.maps import COLOURED, dendrogram, project, scatter_map
from tasks.languages.families import NAMES, agreement, chance, groups, nearest
from tasks.languages.settings import FITS, Settings
from tasks.learning.corpora import open_corpus
from tasks.learning.evaluation import held_out, perplexity
from tasks.learning.language_model import LanguageModel, Optim
from tasks.learning.models import build, start
from tasks.learning.training import fit

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from datamodules.languages import Languages

__all__ = ["FITS", "Settings", "run"]

LEVELS = ("family", "branch")
BUCKETS = 1 << 16


def run(cfg: DictConfig, out: Path) -> Result:
    data = open_corpus(cfg)
    curves, vectors, perplexities = {}, [], []
    for seed in range(cfg.seed, cfg.seed + cfg.task.seeds):
        name = "atd" if cfg.task.seeds == 1 else f"atd-seed{seed}"
        module = language_model(cfg, data, seed)
        curves[name] = fit(module, data, cfg, out, name)
        vectors.append(module.model.vectors().detach().numpy())
        perplexities.append(perplexity(module, held_out(data)["test"]))
    similar = [correlations(centred(x)) for x in vectors]
    rows = {"atd": scores(similar, data.attributes) | {"perplexity": float(np.mean(perplexities))}}
    if len(similar) > 1:
        rows["atd, seeds averaged"] = scores([np.mean(similar, axis=0)], data.attributes)
    rows["chance"] = {f"{level}_accuracy": chance(groups(data.attributes, level)) for level in LEVELS}
    rows["char-ngrams"] = scores([ngram_similarity(data)], data.attributes)
    result = Result("languages", "atd/family_accuracy", rows)
    explain(result, data, cfg)
    result.figure("learning_curves", learning_curves(curves), "Exact validation perplexity after each epoch.")
    show(result, np.mean(similar, axis=0), vectors[0], data.attributes, cfg)
    return result


def language_model(cfg: DictConfig, data: Languages, seed: int) -> LanguageModel:
    torch.manual_seed(seed)
    config = OmegaConf.to_container(cfg.model, resolve=True)
    model = build(config, [len(v) for v in data.vocabularies], len(data.attributes))
    start(model, config, data.vocabularies)
    data.seed = seed
    return LanguageModel(
        model, data.vocabularies, data.attributes, Optim(**cfg.optim), config, seed, asdict(data.tokeniser)
    )


def centred(x_AD: np.ndarray) -> np.ndarray:
    """Without what all languages have in common: they start close together, so raw vectors all correlate."""
    return x_AD - x_AD.mean(0)


def scores(similar: list[np.ndarray], languages: list[str]) -> dict[str, float]:
    out = {}
    for level in LEVELS:
        values = [agreement(s, groups(languages, level)) for s in similar]
        out[f"{level}_accuracy"] = float(np.mean(values))
        if len(values) > 1:
            out[f"{level}_accuracy_sd"] = float(np.std(values, ddof=1))
    return out


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


def explain(result: Result, data: Languages, cfg: DictConfig) -> None:
    train = data.encoded["train"]
    units = "words, each language with its own vocabulary" if data.unit == "word" else "characters of one alphabet"
    eligible = sum(groups(data.attributes).count(g) > 1 for g in groups(data.attributes))
    result.text(
        "What was done",
        [
            f"One multiplicative language model over {units}, in {len(data.attributes)} languages, from "
            f"{len(train.tokens):,} running {data.unit}s"
            + (" of the same verses in every language" if data.matched else "")
            + f"; {cfg.task.seeds} seeds. Each language has one vector.",
            f"family_accuracy: per cent of the {eligible} languages with a relative here whose nearest language, by "
            "correlation of vectors less their mean, is of their family; branch_accuracy the same for branches such as "
            "Slavic. Seeds averaged: by the mean of the seeds' correlations. char-ngrams compares frequencies of "
            "character n-grams of the same text.",
        ],
    )


def show(result: Result, similar: np.ndarray, x_AD: np.ndarray, languages: list[str], cfg: DictConfig) -> None:
    named = [NAMES.get(code, code) for code in languages]
    if len(languages) > 2:
        order, tree = dendrogram(centred(x_AD), named)
        result.figure("family_tree", tree, f"Average linkage on 1 − correlation, seed {cfg.seed}.")
        picture = heatmap(similar[np.ix_(order, order)], [named[i] for i in order], "correlation")
        result.figure("correlation", picture, "Correlation of language vectors, the mean over seeds.")
        points = project(centred(x_AD), cfg.task.method, cfg.task.perplexity, cfg.seed)
        family = groups(languages)
        usual = sorted(set(family), key=lambda f: -family.count(f))[: COLOURED - 1]
        shown = [f if f in usual else "other" for f in family]
        result.figure("language_map", scatter_map(points, named, shown), f"Language vectors, seed {cfg.seed}.")
    near, family, branch = nearest(similar), groups(languages), groups(languages, "branch")
    body = [
        [named[i], family[i], branch[i], named[j], float(similar[i, j]), "yes" if family[i] == family[j] else ""]
        for i, j in enumerate(near)
    ]
    result.table("Nearest language", ["language", "family", "branch", "nearest", "correlation", "related"], body)
