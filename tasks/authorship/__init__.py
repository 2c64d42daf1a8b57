"""The blog experiments (section 4.3): attribute vectors of bloggers, and who of a thousand wrote a post.

n posts, A attributes (tuples of gender, age group and industry), D attribute dim.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from atd.errors import AtdError
from atd.ragged import Ragged
from datamodules.blogs import folds
from datamodules.encode import ids
from tasks.authorship.attribution import INFERRED, TFIDF, Posts, Settings, compare, cross_validate, document_vectors
from tasks.authorship.figures import attribute_map, conditional_neighbours, grouped_bars, same_age
from tasks.authorship.likelihood import attribution_accuracies, log_likelihoods
from tasks.authorship.settings import FITS, Settings
from tasks.authorship.variants import composition, mixture
from tasks.engine.result import Result
from tasks.figures.charts import learning_curves
from tasks.learning.corpora import open_corpus
from tasks.learning.evaluation import held_out, perplexity
from tasks.learning.language_model import language_model, lbl_of
from tasks.learning.models import load
from tasks.learning.tfidf import count_table, counts
from tasks.learning.training import fit

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from atd.lm import LogBilinearLM, MultiplicativeLM
    from datamodules.blogs import Blogs

__all__ = ["FITS", "Settings", "run"]

PARTS = ("experiments", "likelihood", "composition", "mixture")
PAPER = {"tfidf": {"accuracy": 45.9}}  # its other rows are bars without figures


def run(cfg: DictConfig, out: Path) -> Result:
    parts = list(cfg.task.parts)
    if not parts or set(parts) - set(PARTS):
        raise AtdError(f"task.parts=[{','.join(parts)}]: must be some of {', '.join(PARTS)}")
    classified = "experiments" in parts
    primary = "tfidf+conditioned/accuracy" if classified else "atd/perplexity"
    result = Result("authorship", primary, {}, lower_is_better=not classified, paper=PAPER if classified else {})
    if classified or "likelihood" in parts:
        data = open_corpus(cfg)
        atd, lbl = trained(cfg, data, out, result)
        x_AD = atd.vectors().detach()
        show_vectors(result, atd, data, cfg)
        table = data.prolific_posts()
        tokens = data.tokeniser.folded(table["text"])
        words = Ragged(ids(tokens, data.vocabulary), tokens.offsets)
        tuples = table["attribute"].to_pylist()
        if classified:
            names, x = with_unseen(data.attributes, tuples, x_AD)
            attribute = np.array([names.index(t) for t in tuples])
            vectors = document_vectors(atd, lbl, words, x[torch.from_numpy(attribute)])
            posts = Posts(counts(table["text"]), table["author"].to_numpy(), attribute, x.numpy(), vectors)
            classify(result, posts, cfg, out)
        if "likelihood" in parts:
            who_wrote(result, atd, data, words, tuples, table["author"].to_numpy(), cfg)
    if "composition" in parts:
        composition(result, cfg, out)
    if "mixture" in parts:
        mixture(result, cfg, out)
    return result


def trained(cfg: DictConfig, data: Blogs, out: Path, result: Result) -> tuple[MultiplicativeLM, LogBilinearLM]:
    """The multiplicative and the log-bilinear model of the other authors' posts, or those of a run folder."""
    if cfg.checkpoint is not None:
        saved = [load(Path(cfg.checkpoint) / "checkpoints" / name / "best.ckpt") for name in ("atd", "lbl")]
        if saved[0].vocabulary != data.vocabulary or saved[0].attributes != list(data.attributes):
            raise AtdError(f"checkpoint={cfg.checkpoint}: trained on another corpus than data={cfg.data.name}")
        return saved[0].model, saved[1].model
    models, curves = [], {}
    for name, config in {"atd": dict(cfg.model), "lbl": lbl_of(cfg)}.items():
        module = language_model(config, data, cfg)
        curves[name] = fit(module, data, cfg, out, name)
        exact = {split: perplexity(module, loader) for split, loader in held_out(data).items()}
        result.rows[name] = {"perplexity": exact["test"], "perplexity_dev": exact["val"]}
        models.append(module.model.eval())
    result.figure("learning_curves", learning_curves(curves), "Exact dev perplexity after each epoch.")
    return models[0], models[1]


def with_unseen(names: list[str], tuples: list[str], x_AD: torch.Tensor) -> tuple[list[str], torch.Tensor]:
    """Names and vectors, with those tuples that no training author has: the mean of their gender and age group."""
    unseen = sorted(set(tuples) - set(names))
    rows = []
    for missing in unseen:
        alike = [i for i, name in enumerate(names) if name.split("/")[:2] == missing.split("/")[:2]]
        rows.append(x_AD[alike or slice(None)].mean(0))
    return [*names, *unseen], torch.cat([x_AD, *(row[None] for row in rows)])


def classify(result: Result, posts: Posts, cfg: DictConfig, out: Path) -> None:
    """Experiments 1 and 2: all rows on all folds, their differences, and the paper's bar charts."""
    settings = Settings(
        classifier=dict(cfg.task.classifier),
        predictor=dict(cfg.task.predictor),
        min_df=cfg.task.min_df,
        dense=cfg.task.dense,
        weights=cfg.task.weights,
        crossfit=cfg.task.crossfit,
    )
    parts = folds(posts.author, cfg.task.folds, cfg.seed)
    resumed = cfg.resume is not None
    scores = cross_validate(posts, parts, settings, cfg.seed, cfg.task.workers, out / "folds", resumed)
    for row, accuracy in scores.items():
        result.rows[row] = {"accuracy": float(accuracy.mean()), "accuracy_sd": float(accuracy.std(ddof=1))}
    plain = [TFIDF, *(f"{TFIDF}+{name}" for name in posts.vectors)]
    result.figure(
        "effect_of_conditional_embeddings",
        grouped_bars({row: (scores[row],) for row in plain}, ("",), "accuracy, %"),
        f"Experiment 1: {len(np.unique(posts.author))}-way attribution, mean of {len(parts)} folds; bars of one s.d. "
        "Conditioned vectors know the author's gender, age group and industry at test time too; that alone gives "
        f"{scores['metadata'].mean():.1f} %.",
    )
    result.figure(
        "effect_of_inferred_vectors",
        grouped_bars({row: (scores[row], scores[row + INFERRED]) for row in plain}, ("without", "with"), "accuracy, %"),
        "Experiment 2: each pair without and with the attribute vector inferred from predicted attributes. The tuple "
        f"is predicted right for {scores['predicted attribute'].mean():.1f} % of test posts.",
    )
    pairs = [(f"{TFIDF}+unconditioned", TFIDF), (f"{TFIDF}+lbl", TFIDF)]
    pairs += [(f"{TFIDF}+conditioned", f"{TFIDF}+unconditioned"), (f"{TFIDF}+conditioned", f"{TFIDF}+metadata")]
    pairs += [(row + INFERRED, row) for row in plain]
    rows = [[a, b, *compare(scores[a], scores[b], 1 / len(parts))] for a, b in pairs]
    result.table(
        "Differences over folds",
        ["row", "against", "points", "p (paired t)", "p (corrected)"],
        rows,
        "The corrected p allows for training folds that overlap (Nadeau and Bengio). tfidf+metadata adds the tuple "
        "itself, as a feature, to tf-idf: what conditioning gives beyond it comes from the vectors.",
    )
    result.table(
        "Accuracy by fold", ["row", *range(1, len(parts) + 1)], [[r, *map(float, s)] for r, s in scores.items()]
    )


def show_vectors(result: Result, atd: MultiplicativeLM, data: Blogs, cfg: DictConfig) -> None:
    """The map of all tuples, and how words change between the paper's pairs of bloggers."""
    x_AD = atd.vectors().detach()
    figure = attribute_map(x_AD.numpy(), data.attributes, cfg.seed)
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


def who_wrote(
    result: Result,
    atd: MultiplicativeLM,
    data: Blogs,
    words: Ragged,
    tuples: list[str],
    author: np.ndarray,
    cfg: DictConfig,
) -> None:
    """Attributes ranked by the likelihood of one post of each of some authors whom no model has seen."""
    first = np.sort(np.unique(author, return_index=True)[1])
    chosen = first[np.linspace(0, len(first) - 1, min(cfg.task.texts, len(first))).astype(int)]
    texts = words.take(chosen).heads(cfg.task.text_words)
    log_p = log_likelihoods(atd, texts, atd.vectors().detach(), seed=cfg.seed)
    train = data.encoded["train"]
    prior = np.bincount(train.attributes, minlength=len(data.attributes)) / len(train)
    seen = [data.attributes[a] for a in train.attributes]
    V = len(data.vocabulary)
    rows = attribution_accuracies(
        log_p,
        prior,
        data.attributes,
        [tuples[i] for i in chosen],
        (count_table(train, V), seen),
        count_table(texts, V),
        dict(cfg.task.predictor) | {"seed": cfg.seed},
    )
    for row, accuracy in rows.items():
        result.rows.setdefault(row, {}).update(accuracy)
    result.table(
        "Who would have written this?",
        ["", *next(iter(rows.values()))],
        [[row, *accuracy.values()] for row, accuracy in rows.items()],
        f"Accuracy in % on the first {cfg.task.text_words} words of {len(chosen)} posts, one per author, by authors "
        "kept from training. Likelihood: all attribute vectors are tried, those of one gender (age group, industry) "
        "together.",
    )
