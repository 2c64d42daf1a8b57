"""The style of generated text in figures: whose vector fits a book, whom samples are taken for, what a mix is like.

B windows or samples, A books, D attribute dim, N context.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from rich.progress import track
from torch import Tensor

from atd.encoded import EncodedCorpus
from atd.inference import infer
from tasks.engine.canvas import axes, picture
from tasks.engine.result import Result
from tasks.figures.charts import heatmap
from tasks.generation.judge import Judge, confusion, evenly
from tasks.generation.writer import Writer, shown_pair

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from atd.lm import NextWordModel
MIX_SAMPLES = 20  # per pair of books
PASSAGE = 400  # words of an unseen passage whose vector is inferred


def measure_vectors(result: Result, writer: Writer, test: EncodedCorpus) -> None:
    """Each book's held-out text under every book's vector: does its own explain it best?"""
    names = writer.names
    book = test.attributes[test.owner]
    keep = evenly(book, writer.task.matrix_words)
    context = torch.from_numpy(test.windows(len(writer.model.C), keep))
    target = torch.from_numpy(test.tokens[keep].astype(np.int64))
    matrix = perplexity_matrix(writer.model, context, target, torch.from_numpy(book[keep]), writer.x_AD)
    there = np.unique(book)  # books with held-out text
    best = matrix.argmin(1)
    wins = int((best == np.arange(len(names)))[there].sum())
    result.rows["atd"]["own_book_wins"] = wins
    ratio = 100 * (matrix / matrix.diagonal()[:, None] - 1)
    result.figure(
        "perplexity_under_every_vector",
        heatmap(np.round(ratio[there]), [names[i] for i in there], "% above own vector", columns=names),
        f"Held-out perplexity of each book (row) under each book's vector (column), in per cent above its own. "
        f"The own vector is best for {wins} of {len(there)} books.",
    )
    rows = [[names[i], matrix[i, i], names[best[i]], matrix[i, best[i]]] for i in there]
    result.table("Held-out perplexity per book", ["book", "own vector", "best vector", "perplexity"], rows)


@torch.inference_mode()
def perplexity_matrix(
    model: NextWordModel, context_BN: Tensor, target_B: Tensor, attribute_B: Tensor, x_AD: Tensor
) -> np.ndarray:
    """Exact perplexity of every attribute's text (rows) under every attribute's vector (columns); 1 without text."""
    nll = np.zeros((len(x_AD), len(x_AD)))
    for j, x in enumerate(track(x_AD, "perplexity of all texts under all vectors")):
        for rows in torch.arange(len(target_B)).split(512):
            x_BD = x.expand(len(rows), -1)
            losses = model.nll(context_BN[rows], target_B[rows], x_BD, reduction="none")
            np.add.at(nll[:, j], attribute_B[rows].numpy(), losses.double().numpy())
    words = np.bincount(attribute_B, minlength=len(x_AD))
    return np.exp(nll / np.maximum(words, 1)[:, None])


def measure_samples(result: Result, writer: Writer, judge: Judge) -> None:
    """Whom samples are taken for: their book, another of its author, which others."""
    names = writer.names
    book = np.repeat(np.arange(len(names)), writer.task.samples)
    taken = judge.read(writer.sample_books(book, writer.task.temperature)).taken_for
    author = np.array([name.split("-")[0] for name in names])
    result.rows["atd"]["author_accuracy"] = float(100 * (author[taken] == author[book]).mean())
    result.figure(
        "who_samples_are_taken_for",
        heatmap(np.round(confusion(book, taken, len(names))), names, "% of samples"),
        f"Samples of {writer.task.words} words drawn under each book's vector (row) and the book that the judge takes "
        "them for (column).",
    )


def measure_mixes(result: Result, writer: Writer, judge: Judge) -> None:
    """Do samples under the average of two books lie between samples of the two, in the judge's odds?"""
    between = lie_between(writer, judge)
    share = float(100 * between.mean())
    result.rows["atd"]["mixes_between"] = share
    result.figure(
        "a_mix_between_two_books",
        mix_figure(writer, judge),
        f"From one book to the other by a weighted mix of their vectors: what samples are taken for. Over all "
        f"{len(between)} pairs, the samples of the even mix lie between the two books' own (mean log-odds) in "
        f"{share:.0f} %.",
    )


def lie_between(writer: Writer, judge: Judge) -> np.ndarray:
    """For every pair of books: are the mean odds a : b of samples of the even mix between those of a and of b?"""
    A = len(writer.names)
    own = np.repeat(np.arange(A), 3 * MIX_SAMPLES)
    own_AA = part_means(judge.read(writer.sample(writer.x_AD[own])).log_share, A)
    pairs = np.array(list(combinations(range(A), 2)))
    both = torch.from_numpy(pairs.repeat(MIX_SAMPLES, axis=0))
    mixed = part_means(judge.read(writer.sample(writer.x_AD[both].mean(1), series=1)).log_share, len(pairs))
    a, b = pairs.T
    pair = np.arange(len(pairs))
    odds = mixed[pair, a] - mixed[pair, b]
    high = own_AA[a, a] - own_AA[a, b]
    low = own_AA[b, a] - own_AA[b, b]
    return (odds < high) & (odds > low)


@picture
def mix_figure(writer: Writer, judge: Judge) -> Figure:
    """What samples are taken for on the way from one book to another."""
    names, x_AD = writer.names, writer.x_AD
    first, second = shown_pair(names)
    shares = np.linspace(0, 1, 9)
    x = torch.stack([float(w) * x_AD[second] + (1 - float(w)) * x_AD[first] for w in shares])
    drawn = judge.read(writer.sample(x.repeat_interleave(100, 0), series=2))
    taken = part_means(np.exp(drawn.log_share), len(shares))
    figure, ax = axes()
    ax.plot(shares, 100 * taken[:, first], marker="o", color="#0072b2", label=names[first])
    ax.plot(shares, 100 * taken[:, second], marker="s", color="#d55e00", label=names[second])
    ax.plot(shares, 100 * (1 - taken[:, [first, second]].sum(1)), marker="^", color="#5c6675", label="other books")
    ax.set_xlabel(f"share of {names[second]} in the mix")
    ax.set_ylabel("% attributed")
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)  # beside the curves, not over them
    return figure


def part_means(rows: np.ndarray, parts: int) -> np.ndarray:
    """The mean of each of so many equal parts of the rows."""
    return np.stack([part.mean(0) for part in np.array_split(rows, parts)])


def measure_inferred(
    result: Result, writer: Writer, judge: Judge, test: EncodedCorpus, inference: Mapping[str, Any]
) -> None:
    """ "Write like this passage": infer the vector of an unseen passage of each book and sample under it."""
    names = writer.names
    books, first = np.unique(test.attributes, return_index=True)
    x = infer(writer.model, *test.take(first).heads(PASSAGE).flat, **inference).x
    cosine = torch.nn.functional.normalize(x, dim=1) @ torch.nn.functional.normalize(writer.x_AD, dim=1).T
    nearest = cosine.argmax(1).numpy()
    each = np.repeat(np.arange(len(books)), writer.task.samples)
    drawn = judge.read(writer.sample(x[each], series=3)).taken_for
    right = drawn == books[each]
    result.rows["inferred"] = {
        "style_accuracy": float(100 * right.mean()),
        "nearest_is_own": float(100 * (nearest == books).mean()),
    }
    rows = []
    for i, book in enumerate(books):
        taken = np.bincount(drawn[each == i], minlength=len(names))
        share = f"{names[int(taken.argmax())]} {100 * taken.max() / taken.sum():.0f} %"
        rows.append([names[book], names[nearest[i]], float(100 * right[each == i].mean()), share])
    result.table(
        "Write like this passage",
        ["unseen passage of", "nearest book vector", "samples attributed to it, %", "most often taken for"],
        rows,
        f"The vector of {PASSAGE} held-out words is inferred with all weights frozen; samples are drawn under it.",
    )
