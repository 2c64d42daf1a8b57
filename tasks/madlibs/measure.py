"""Did the tags come out, and is it language? A tagger and a language model judge that learned from other text.

The tags of the corpus come from one tagger; the judge learned from other sentences, so that its mistakes are its own.
Fluency is judged by Kneser–Ney n-grams of the validation chapters, which no writer has learned from: how much the order
of the words helps to guess them, log P₅ − log P₁ per word (known as SLOR: Pauls & Klein 2012), in per cent of what it
does on the true continuation.

B sequences, T tags of each, SEEN words before them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from atd.ngram import KneserNey
from atd.vocabulary import UNK_ID
from datamodules.gutenberg import Gutenberg
from tasks.engine.result import Result
from tasks.figures.charts import bars
from tasks.learning.evaluation import examples
from tasks.madlibs.prompts import SEEN, sequences
from tasks.madlibs.writers import MEANING, ORDER, Writer

if TYPE_CHECKING:
    from datamodules.tagger import Tagger

BESIDE = {  # rows that the first sentence names
    "ungated": "of a model that is not told it",
    "words-of-tag": "of words drawn by it alone",
    "real words": "of real words",
}


def measure(
    result: Result, writers: Mapping[str, Writer], data: Gutenberg, judge: Tagger, n: int, T: int, seed: int
) -> None:
    """The rows of all writers, on n sequences of T tags from held-out text."""
    before, asked_BT, real_BT = sequences(data, n, T, seed)
    produced = {**{name: write(before, asked_BT) for name, write in writers.items()}, "real words": real_BT}
    text = {name: np.concatenate([before, ids_BT], axis=1).astype(np.int64) for name, ids_BT in produced.items()}
    names, written = np.array(data.attributes), spelling(data)
    setter, saved = data.tagger(), saving(data)
    of_real = saved(text["real words"])
    right = {}
    for name, ids in text.items():
        right[name] = tags_after(judge, written[ids]) == names[asked_BT]
        by_setter = tags_after(setter, written[ids]) == names[asked_BT]
        result.rows.setdefault(name, {}).update(
            tag_accuracy=float(100 * right[name].mean()),
            tag_accuracy_setter=float(100 * by_setter.mean()),
            fluency=100 * saved(ids) / of_real,
        )
    taggers = (("setter", "_setter", setter), ("judge", "", judge))
    for name, ending, tagger in taggers:
        if tagger.accuracy is not None:
            result.rows[name] = {f"tag_accuracy{ending}": 100 * tagger.accuracy}
    report(result, right, asked_BT, names, of_real)


def report(
    result: Result, right: Mapping[str, np.ndarray], asked_BT: np.ndarray, names: np.ndarray, of_real: float
) -> None:
    result.text(
        "How it is measured",
        [
            "tag_accuracy: words to which the judge gives the tag that was asked for. The judge is a tagger that "
            "learned from other sentences than the one that set the tags; what that one says is tag_accuracy_setter. "
            "On real words it is how far the two agree, which a writer can exceed: plain words are tagged more surely. "
            "fluency: what the order of the words saves a 5-gram of other chapters per word, against a bag of words, "
            f"in per cent of what it saves on the true words ({of_real:.2f} nats).",
            "; ".join(f"{name}: {MEANING[name]}" for name in right) + ".",
        ],
    )
    scores = {name: 100 * r.mean() for name, r in right.items()}
    others = ", ".join(f"{scores[name]:.1f} {whose}" for name, whose in BESIDE.items() if name in scores)
    result.verdict = (
        f"{scores['atd']:.1f} % of the model's words have the part of speech that was asked for ({others}); in their "
        f"order they are {result.rows['atd']['fluency']:.0f} % as fluent as real text."
    )
    result.figure(
        "requested_tag_realised",
        bars(scores, "% of words with the requested tag"),
        f"{len(asked_BT):,} sequences of {asked_BT.shape[1]} tags from held-out text, each continued from its own "
        f"context. words-of-tag needs no context and has {scores['words-of-tag']:.1f} %, the model "
        f"{scores['atd']:.1f} %: what a context is good for is seen in the fluency.",
    )
    rows = []
    for tag in np.argsort(-np.bincount(asked_BT.ravel(), minlength=len(names)))[:25]:
        mine = asked_BT == tag
        if mine.any():
            rows.append([names[tag], int(mine.sum()), *(float(100 * right[n][mine].mean()) for n in right)])
    result.table("By tag", ["tag", "asked for", *(f"{name}, %" for name in right)], rows)


def tags_after(tagger: Tagger, text: np.ndarray) -> np.ndarray:
    """The tags of the words after the first SEEN (B×T)."""
    return np.array([tags[SEEN:] for tags in tagger.tag(text.tolist())], dtype=object)


def saving(data: Gutenberg) -> Callable[[np.ndarray], float]:
    """A function of texts B×(SEEN + T): nats per known word that the order of the words saves."""
    V, other = len(data.vocabulary), examples(data.encoded["val"], ORDER)
    ordered, bag = KneserNey(V, ORDER).fit(*other[:2]), KneserNey(V, 1).fit(*other[:2])

    def saved(ids: np.ndarray) -> float:
        windows = sliding_window_view(ids, ORDER, axis=1)[:, SEEN - ORDER + 1 :].reshape(-1, ORDER)
        windows = windows[windows[:, -1] != UNK_ID]
        context, target = windows[:, :-1], windows[:, -1]
        gain = ordered.log_probabilities(context, target) - bag.log_probabilities(context, target)
        return float(gain.mean())

    return saved


def spelling(data: Gutenberg) -> np.ndarray:
    """How each word of the vocabulary is most often written in the books: `emma` → `Emma`, `<#>` → `1`.

    The tagger learned from text as written, where a capital tells a name; the model's words are in lower case.
    """
    from datamodules.readers.books import read_books

    best: dict[str, tuple[int, str]] = {}
    for token, count in data.tokeniser(read_books(data.path)["text"]).counts().items():
        word = data.tokeniser.fold(token)
        best[word] = max(best.get(word, (0, word)), (count, token))
    return np.array([best.get(word, (0, word))[1] for word in data.vocabulary.words], dtype=object)
