"""The style of generated text in figures: whose vector fits, whom samples are taken for, what lies between two books.

B samples, A attributes, D attribute dim, T words of a sample.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import torch

from atd.generate import generate
from atd.inference.infer import infer
from atd.vocabulary import BOS_ID, UNK_ID
from tasks.engine.canvas import axes
from tasks.figures.charts import heatmap
from tasks.generation.reader import Reader, confusion, evenly, perplexity_matrix, pieces
from tasks.learning.inference import options

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from datamodules.corpus import Corpus
    from tasks.engine.result import Result

BURN_IN = 10  # words drawn and dropped before a measured sample, so that it does not begin like a first page
MIX_SAMPLES = 20  # per pair of books
PASSAGE = 400  # words of an unseen passage whose vector is inferred
FORBID = (UNK_ID, BOS_ID)


def measure_vectors(result: Result, model, names, context, target, book, x_AD, cfg: DictConfig) -> None:
    """Each book's held-out text under every book's vector: does its own explain it best?"""
    keep = torch.from_numpy(evenly(book.numpy(), cfg.task.matrix_words))
    matrix = perplexity_matrix(model, context[keep], target[keep], book[keep], x_AD)
    wins = matrix.argmin(1) == np.arange(len(names))
    result.rows["atd"]["own_book_wins"] = int(wins.sum())
    ratio = 100 * (matrix / matrix.diagonal()[:, None] - 1)
    result.figure(
        "perplexity_under_every_vector",
        heatmap(np.round(ratio), names, "% above own vector"),
        f"Held-out perplexity of each book (row) under each book's vector (column), in per cent above its own. "
        f"The own vector is best for {wins.sum()} of {len(names)} books.",
    )
    best = matrix.argmin(1)
    rows = [[n, matrix[i, i], names[best[i]], matrix[i, best[i]]] for i, n in enumerate(names)]
    result.table("Held-out perplexity per book", ["book", "own vector", "best vector", "perplexity"], rows)


def sample(model, x_BD: torch.Tensor, words: int, seed: int, cfg: DictConfig) -> np.ndarray:
    """Measured samples: ids B×T, from nothing but the vector."""
    ids = generate(
        model,
        x_BD,
        [BOS_ID],
        BURN_IN + words,
        generator=torch.Generator().manual_seed(seed),
        temperature=cfg.task.temperature,
        top_k=cfg.task.top_k,
        top_p=cfg.task.top_p,
        forbid=FORBID,
    )
    return ids[:, BURN_IN:].numpy()


def measure_samples(result: Result, model, data: Corpus, x_AD: torch.Tensor, cfg: DictConfig) -> Reader:
    """Who a classifier trained on the real books takes samples for."""
    names, words = data.attributes, cfg.task.words
    part = {s: pieces(c.tokens, c.offsets, c.attributes, words) for s, c in data.encoded.items()}
    reader = Reader(len(data.vocabulary), cfg.seed).fit(*part["train"])
    real, label = part["test"]
    book = np.repeat(np.arange(len(names)), cfg.task.samples)
    drawn = reader.predict(sample(model, x_AD[book], words, cfg.seed, cfg))
    true = confusion(label, reader.predict(real), len(names))
    table = confusion(book, drawn, len(names))
    author = np.array([name.split("-")[0] for name in names])
    result.rows["atd"]["style_accuracy"] = float(100 * (drawn == book).mean())
    result.rows["atd"]["author_accuracy"] = float(100 * (author[drawn] == author[book]).mean())
    present = np.bincount(label, minlength=len(names)) > 0
    result.rows["real text"] = {"style_accuracy": float(true.diagonal()[present].mean())}
    result.rows["chance"] = {"style_accuracy": 100 / len(names)}
    result.figure(
        "who_samples_are_taken_for",
        heatmap(np.round(table), names, "% of samples"),
        f"Samples of {words} words drawn under each book's vector (row) and the book a classifier trained on real "
        f"text takes them for (column). Right: {result.rows['atd']['style_accuracy']:.0f} %; on real held-out text "
        f"of that length: {result.rows['real text']['style_accuracy']:.0f} %; chance {100 / len(names):.1f} %.",
    )
    return reader


def measure_mixes(result: Result, model, names, reader: Reader, x_AD: torch.Tensor, cfg: DictConfig) -> None:
    """Do samples under the average of two books lie between samples of the two, in the classifier's odds?"""
    if len(names) < 2:
        return
    pairs = np.array(list(combinations(range(len(names)), 2)))
    own = np.repeat(np.arange(len(names)), 3 * MIX_SAMPLES)
    own_AA = np.stack([r.mean(0) for r in split(reader.log_prob(draw(model, x_AD[own], cfg)), len(names))])
    middle = torch.from_numpy(pairs.repeat(MIX_SAMPLES, axis=0))
    mixed = split(reader.log_prob(draw(model, x_AD[middle].mean(1), cfg, seed=1)), len(pairs))
    odds = np.array([m.mean(0)[a] - m.mean(0)[b] for m, (a, b) in zip(mixed, pairs, strict=True)])
    a, b = pairs.T
    high, low = own_AA[a, a] - own_AA[a, b], own_AA[b, a] - own_AA[b, b]
    between = (odds < high) & (odds > low)
    result.rows["atd"]["mixes_between"] = float(100 * between.mean())
    first, second = shown_pair(names)
    shares = np.linspace(0, 1, 9)
    x = torch.stack([float(w) * x_AD[second] + (1 - float(w)) * x_AD[first] for w in shares])
    drawn = reader.log_prob(draw(model, x.repeat_interleave(100, 0), cfg, seed=2))
    taken = np.stack([np.exp(part).mean(0) for part in split(drawn, len(shares))])
    figure, ax = axes()
    ax.plot(shares, 100 * taken[:, first], marker="o", color="#0072b2", label=names[first])
    ax.plot(shares, 100 * taken[:, second], marker="s", color="#d55e00", label=names[second])
    ax.plot(shares, 100 * (1 - taken[:, [first, second]].sum(1)), marker="^", color="#5c6675", label="other books")
    ax.set_xlabel(f"share of {names[second]} in the mix")
    ax.set_ylabel("% attributed")
    ax.legend()
    result.figure(
        "a_mix_between_two_books",
        figure,
        f"From one book to the other by a weighted mix of their vectors: what samples are taken for. Over all "
        f"{len(pairs)} pairs, the samples of the even mix lie between the two books' own (mean log-odds) in "
        f"{100 * between.mean():.0f} %.",
    )


def draw(model, x_BD: torch.Tensor, cfg: DictConfig, seed: int = 0) -> np.ndarray:
    """`sample` in batches that bound memory."""
    parts = [sample(model, x, cfg.task.words, cfg.seed + 1000 * seed + i, cfg) for i, x in enumerate(x_BD.split(512))]
    return np.concatenate(parts)


def split(rows: np.ndarray, parts: int) -> list[np.ndarray]:
    return np.array_split(rows, parts)


def shown_pair(names) -> tuple[int, int]:
    """The paper's Bible and Caesar where they are, otherwise the first and the last."""
    find = {name: i for i, name in enumerate(names)}
    return find.get("bible-kjv", 0), find.get("shakespeare-caesar", len(names) - 1)


def measure_inferred(result: Result, model, data: Corpus, reader: Reader, x_AD: torch.Tensor, cfg: DictConfig) -> None:
    """ "Write like this passage": infer the vector of an unseen passage of each book and sample under it."""
    test, names = data.encoded["test"], data.attributes
    first = [int(np.flatnonzero(test.attributes == a)[0]) for a in np.unique(test.attributes)]
    books = test.attributes[first]
    texts = [torch.from_numpy(np.array(test.tokens[test.offsets[d] : test.offsets[d + 1]][:PASSAGE])) for d in first]
    offsets = torch.tensor([0, *np.cumsum([len(t) for t in texts])])
    x = infer(model, torch.cat(texts), offsets, **options(cfg.inference, cfg.seed)).x
    cosine = torch.nn.functional.normalize(x, dim=1) @ torch.nn.functional.normalize(x_AD, dim=1).T
    nearest = cosine.argmax(1).numpy()
    each = np.repeat(np.arange(len(books)), cfg.task.samples)
    drawn = reader.predict(draw(model, x[each], cfg, seed=3))
    right = drawn == books[each]
    result.rows["inferred"] = {
        "style_accuracy": float(100 * right.mean()),
        "nearest_is_own": float(100 * (nearest == books).mean()),
    }
    rows = []
    for i, book in enumerate(books):
        taken = np.bincount(drawn[each == i], minlength=len(names))
        share = f"{names[taken.argmax()]} {100 * taken.max() / taken.sum():.0f} %"
        rows.append([names[book], names[nearest[i]], float(100 * right[each == i].mean()), share])
    result.table(
        "Write like this passage",
        ["unseen passage of", "nearest book vector", "samples attributed to it, %", "most often taken for"],
        rows,
        f"The vector of {PASSAGE} held-out words is inferred with all weights frozen; samples are drawn under it.",
    )
