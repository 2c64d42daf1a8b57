"""Style against fluency: every writer at every temperature before the same judge.

n samples, S = CONTEXT + words of a sample, A books.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from rich.progress import track

from atd.encoded import EncodedCorpus
from tasks.engine.canvas import COLOURS, MARKERS, axes, picture
from tasks.engine.result import Result
from tasks.generation.judge import CONTEXT, Judge, Reading, pieces
from tasks.generation.rivals import MEANING, Copies, Sampler

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tasks.generation.writer import Writer

Curve = Mapping[float, "Point"]  # by temperature


@dataclass(frozen=True)
class Point:
    """All in per cent."""

    style: float  # samples taken for the book that was asked for
    fluency: float  # of that of real text
    copied: float  # words that end a run of five which stands in the training text
    variety: float  # different words among those of a sample


def measure_writers(
    result: Result,
    writer: Writer,
    others: Mapping[str, Sampler],
    judge: Judge,
    train: EncodedCorpus,
    temperatures: Sequence[float],
) -> None:
    """The rows of all writers at the task's temperature, the curves over all, and the controls of the measure."""
    task = writer.task
    real, label = pieces(train, task.words, task.samples)
    reading = judge.read(real)
    copies = Copies(train)
    book = np.repeat(np.arange(len(writer.names)), task.samples)

    def point(ids_nS: np.ndarray, book_n: np.ndarray, read: Reading | None = None) -> Point:
        read = read or judge.read(ids_nS)
        style = float(100 * (read.taken_for == book_n).mean())
        return Point(style, 100 * read.fluency / reading.fluency, 100 * copies.share(ids_nS), variety(ids_nS))

    samplers = {"atd": writer.sample_books, **others}
    tasks = [(name, t) for name in samplers for t in sorted({*temperatures, task.temperature})]
    curves: dict[str, dict[float, Point]] = {name: {} for name in samplers}
    for name, t in track(tasks, "writing and judging", transient=True):
        curves[name][t] = point(samplers[name](book, t), book)
    shuffled = np.random.default_rng(writer.seed).permuted(real, axis=1)
    texts = {"real text": point(real, label, reading), "real text, shuffled": point(shuffled, label)}
    for name, curve in curves.items():
        add_row(result, name, curve[task.temperature])
        if (matched := style_at_fluency(curve)) is not None:
            result.rows[name]["style_at_fluency"] = matched
    for name, p in texts.items():
        add_row(result, name, p)
    result.rows["chance"] = {"style_accuracy": 100 / len(writer.names)}
    report(result, curves, texts, reading, task.words, len(book))


def add_row(result: Result, name: str, point: Point) -> None:
    row = result.rows.setdefault(name, {})
    row |= {"style_accuracy": point.style, "fluency": point.fluency, "copied": point.copied, "variety": point.variety}


def style_at_fluency(curve: Curve, level: float = 100.0) -> float | None:
    """Style at the highest temperature at which the writer is as fluent as real text, between two temperatures by
    straight lines; None if it never is."""
    points = sorted(curve.values(), key=lambda p: p.fluency)
    fluency, style = [p.fluency for p in points], [p.style for p in points]
    return None if fluency[-1] < level else float(np.interp(level, fluency, style))


def variety(ids_nS: np.ndarray) -> float:
    """Different words among those of a piece, in per cent."""
    ordered = np.sort(ids_nS[:, CONTEXT:], axis=1)
    return float(100 * (1 + (np.diff(ordered, axis=1) != 0).sum(1)).mean() / ordered.shape[1])


def report(
    result: Result,
    curves: Mapping[str, Curve],
    texts: Mapping[str, Point],
    reading: Reading,
    words: int,
    samples: int,
) -> None:
    reached = {name: style_at_fluency(curve) for name, curve in curves.items()}
    matched = ", ".join(f"{name} {'never' if s is None else f'{s:.0f} %'}" for name, s in reached.items())
    result.text(
        "How style is measured",
        [
            "The writers learned from the training chapters. The judge learned from the chapters held out: Kneser–Ney "
            "5-grams of each book, mixed with those of all. So nothing is gained by a passage that the judge knows. "
            "style_accuracy: samples that the judge takes for the book asked for. fluency: what the order of the words "
            "saves the judge per word against a bag of words of the same books, in per cent of what it saves on real "
            f"text ({reading.fluency:.2f} nats, on {reading.words_n.sum():,} words of the training chapters). "
            "style_at_fluency: style_accuracy at the temperature at which a writer is as fluent as real text; none "
            "where it never is.",
            f"As fluent as real text: {matched}. Of {samples:,} samples a share is uncertain by up to "
            f"{50 * samples**-0.5:.1f} points (a standard error).",
            "copied: words that end a run of five words which stands in the training text. variety: different words "
            "among those of a sample. The judge looks four words back; what is wrong at a longer distance it does not "
            "see.",
        ],
    )
    result.figure(
        "style_against_fluency",
        curves_picture(curves, texts),
        f"Samples of {words} words at several temperatures, one curve per writer; the ring is at the lowest "
        "temperature. Up: more samples taken for the book asked for. Right: words in a better order. "
        "real text, shuffled keeps its words and loses their order.",
    )
    header = ["writer", "temperature", "style, %", "fluency, % of real", "copied, %", "variety, %"]
    rows: list[list] = [
        [n, f"{t:.2f}", p.style, p.fluency, p.copied, p.variety]
        for n, curve in curves.items()
        for t, p in curve.items()
    ]
    rows += [[name, None, p.style, p.fluency, p.copied, p.variety] for name, p in texts.items()]
    meaning = "; ".join(f"{name}: {says}" for name, says in MEANING.items() if name in curves)
    result.table("Style and fluency at every temperature", header, rows, f"{meaning}.")


@picture
def curves_picture(curves: Mapping[str, Curve], texts: Mapping[str, Point]) -> Figure:
    figure, ax = axes(7.5, 4.5)
    for i, (name, curve) in enumerate(curves.items()):
        points = [curve[t] for t in sorted(curve)]
        colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]
        ax.plot([p.fluency for p in points], [p.style for p in points], marker=marker, color=colour, label=name)
        ax.plot(points[0].fluency, points[0].style, "o", markersize=11, fillstyle="none", color=colour)
    for name, shade in zip(texts, ("black", "0.6"), strict=True):
        ax.plot(texts[name].fluency, texts[name].style, "*", markersize=13, color=shade, label=name)
    ax.axvline(100, color="0.6", linewidth=0.8)
    ax.set_xlabel("fluency, % of real text")
    ax.set_ylabel("% of samples taken for their book")
    ax.set_ylim(0, 100)
    ax.grid(alpha=0.3)
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return figure
