"""Which words are used otherwise under the values of a column: effects with intervals, for every frequent word.

The table of the report has the surest words of each column; effects.json in the run's folder has all that are found.

n documents, A values.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from atd.effects import Effects, effects_of_columns
from atd.errors import AtdError
from atd.vocabulary import SPECIALS
from tasks.attributes.prediction import values_of
from tasks.engine.files import write_atomically
from tasks.engine.result import Result

if TYPE_CHECKING:
    from atd.encoded import EncodedCorpus
    from atd.trained import Trained
    from datamodules.corpus import Corpus

RATE = 0.05  # of false discoveries among the words that are said to differ
SHOWN = 15  # words in the report
KEPT = 1000  # words of a column in effects.json
COUNTED = 4  # values whose documents the report counts
VALUES = 60  # of a column at most
FILE = "effects.json"


def show_effects(result: Result, trained: Trained, data: Corpus, out: Path) -> None:
    """A table for every column, and the file."""
    texts = data.encoded["train"]
    if texts.per_token or len(trained.vocabularies) > 1:
        return
    vectors_VK = trained.vectors()
    vectors_VK[: len(SPECIALS)] = 0
    tested = list(coded_columns(texts, trained))
    if not tested:
        return
    try:
        each = [(code_n, groups_of(texts, code_n)) for _, _, code_n in tested]
        effects = effects_of_columns(texts, each, vectors_VK)
    except AtdError as error:
        effects = [error] * len(tested)
    columns = []
    for (name, values, _), found in zip(tested, effects, strict=True):
        if isinstance(found, AtdError):
            result.text(f"Words used otherwise by {name}", [f"Not tested: {found}."])
            continue
        show_column(result, found, trained, name, values)
        columns.append({"name": name, "values": values, "words": words_of(found, trained, values)})
    if columns:
        write_atomically(out / FILE, json.dumps({"columns": columns}) + "\n")


def coded_columns(texts: EncodedCorpus, trained: Trained) -> Iterator[tuple[str, list[str], np.ndarray]]:
    """(name, values, the number of each text's value (n)) of every column of names; the values that occur, sorted."""
    for name, value_n in values_of(texts, trained).items():
        values, code_n = np.unique(value_n.astype(str), return_inverse=True)
        if 2 <= len(values) <= VALUES:
            yield name, values.tolist(), code_n.reshape(-1)


def groups_of(texts: EncodedCorpus, code_n: np.ndarray) -> np.ndarray | None:
    """What is exchanged in place of documents, such as authors, if each has one value."""
    group_n = texts.columns.get("group")
    if group_n is None:
        return None
    pairs = np.unique(np.stack([np.asarray(group_n), code_n], 1), axis=0)
    return np.asarray(group_n) if len(pairs) == len(np.unique(group_n)) else None


def words_of(found: Effects, trained: Trained, values: list[str]) -> list[dict[str, Any]]:
    """The words with the smallest p, as effects.json has them."""
    return [
        {
            "word": trained.vocabulary.words[found.words_W[i]],
            "effect": float(found.effect_W[i]),
            "low": float(found.low_W[i]),
            "high": float(found.high_W[i]),
            "p": float(found.p_W[i]),
            "q": float(found.q_W[i]),
            "documents": found.documents_WA[i].tolist(),
        }
        for i in found.order()[:KEPT]
    ]


def show_column(result: Result, found: Effects, trained: Trained, name: str, values: list[str]) -> None:
    sure = found.found(RATE)
    result.details.setdefault("words used otherwise", {})[name] = float(len(sure))
    said = (
        f"The use of {len(sure):,} of {len(found):,} words differs between the values of {name}, at a false discovery "
        f"rate of {RATE:.0%}."
    )
    if not len(sure):
        result.text(f"Words used otherwise by {name}", [f"{said} So no word certainly differs."])
        return
    most = np.argsort(-found.documents_WA.sum(0), kind="stable")[:COUNTED]
    rows = []
    for i in sure[np.argsort(-found.low_W[sure], kind="stable")][:SHOWN]:
        word = trained.vocabulary.words[found.words_W[i]]
        interval = f"{found.effect_W[i]:.2f} [{found.low_W[i]:.2f}, {found.high_W[i]:.2f}]"
        company = "; ".join(f"{values[a]}: {company_of(found, trained, i, a)}" for a in most[:2])
        rows.append([word, interval, float(found.q_W[i]), *found.documents_WA[i, most].tolist(), company])
    result.table(
        f"Words used otherwise by {name}",
        ["word", "effect [95 %]", "q", *(f"texts: {values[a]}" for a in most), "more at home with"],
        rows,
        f"{said} The effect is a squared distance between the company that the word keeps, without the bias of small "
        "counts; 1 is as far as two words typically are apart. The tests are over documents, after what their subjects "
        "explain was taken out. Largest first, by the lower end of the interval; intervals of words that were chosen "
        "for their size are too high.",
    )


def company_of(found: Effects, trained: Trained, row: int, value: int) -> str:
    return ", ".join(trained.vocabulary.decode(found.company(row, value, 5))) or "too few texts"
