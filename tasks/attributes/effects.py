"""Which words are used otherwise under the values of a column: effects with intervals, for every frequent word.

The table of the report has the surest words of each column; effects.json in the run's folder has all that are found.

n documents, A values.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from atd.effects import Effects, effects_of_columns
from atd.errors import AtdError
from atd.files import write_whole
from atd.vocabulary import SPECIALS, UNK_ID
from tasks.attributes.prediction import values_of
from tasks.engine.result import Result
from tasks.engine.wording import listed

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
    tested = []
    for column in [*columns_of_names(texts, trained), *columns_of_numbers(texts, trained)]:
        if len(column.values) > VALUES:
            says = f"Not tested: {len(column.values):,} values; up to {VALUES} are compared with each other."
            result.text(f"Words used otherwise by {column.name}", [says])
        else:
            tested.append(column)
    if not tested:
        return
    try:
        each = [(column.value_n, groups_of(texts, column.value_n)) for column in tested]
        effects = effects_of_columns(texts, each, vectors_VK)
    except AtdError as error:
        effects = [error] * len(tested)
    kept = []
    for column, found in zip(tested, effects, strict=True):
        if isinstance(found, AtdError):
            result.text(f"Words used otherwise by {column.name}", [f"Not tested: {found}."])
            continue
        show_column(result, found, trained, column)
        words = words_of(found, trained)
        kept.append({"name": column.name, "values": column.values, "number": column.is_number, "words": words})
    if kept:
        write_whole(out / FILE, json.dumps({"columns": kept}) + "\n")


@dataclass(frozen=True)
class Tested:
    """A column, and what each text has in it: the number of one of its values, or a number."""

    name: str
    values: list[str]
    value_n: np.ndarray

    @property
    def is_number(self) -> bool:
        return self.value_n.dtype.kind == "f"


def columns_of_names(texts: EncodedCorpus, trained: Trained) -> Iterator[Tested]:
    """The columns of names, with the values that occur, sorted."""
    for name, value_n in values_of(texts, trained).items():
        values, code_n = np.unique(value_n.astype(str), return_inverse=True)
        if len(values) > 1:
            yield Tested(name, values.tolist(), code_n.reshape(-1))


def columns_of_numbers(texts: EncodedCorpus, trained: Trained) -> Iterator[Tested]:
    """The columns of numbers that are a term of their own; a missing number is nan."""
    design = trained.design
    if texts.shares is None:
        return
    for t, term in enumerate(design.terms):
        column = design.columns[term[0]]
        if len(term) > 1 or column.knots is None:
            continue
        knot_A = np.zeros(len(design.term_A))
        known = design.combinations[t][:, 0] < len(column.knots)
        knot_A[design.term_A == t] = np.where(
            known, np.append(column.knots, np.nan)[design.combinations[t][:, 0]], np.nan
        )
        of_term_nM = (design.term_A[texts.attributes] == t) & (texts.shares > 0)
        number_n = np.where(of_term_nM, texts.shares * knot_A[texts.attributes], 0).sum(1)
        yield Tested(column.name, ["low", "high"], number_n)


def groups_of(texts: EncodedCorpus, code_n: np.ndarray) -> np.ndarray | None:
    """What is exchanged in place of documents, such as authors, if each has one value."""
    group_n = texts.columns.get("group")
    if group_n is None:
        return None
    pairs = np.unique(np.stack([np.asarray(group_n), code_n], 1), axis=0)
    return np.asarray(group_n) if len(pairs) == len(np.unique(group_n)) else None


def words_of(found: Effects, trained: Trained) -> list[dict[str, Any]]:
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


def show_column(result: Result, found: Effects, trained: Trained, column: Tested) -> None:
    name, values, sure = column.name, column.values, found.found(RATE)
    result.details.setdefault("words used otherwise", {})[name] = float(len(sure))
    how = f"changes along {name}" if column.is_number else f"differs between the values of {name}"
    said = f"The use of {len(sure):,} of {len(found):,} words {how}, at a false discovery rate of {RATE:.0%}."
    if not len(sure):
        result.text(f"Words used otherwise by {name}", [f"{said} So no word certainly differs."])
        return
    rows = []
    told = sure[found.words_W[sure] != UNK_ID]  # which stands for many words
    for i in told[np.argsort(-found.low_W[told], kind="stable")][:SHOWN]:
        word = trained.vocabulary.words[found.words_W[i]]
        interval = f"{found.effect_W[i]:.2f} [{found.low_W[i]:.2f}, {found.high_W[i]:.2f}]"
        most = np.argsort(-found.documents_WA[i], kind="stable")[:COUNTED]  # the values whose texts have it most often
        used = [f"{values[a]} {found.documents_WA[i, a]:,}" for a in most if found.documents_WA[i, a]]
        texts = f"{found.documents_WA[i].sum():,}" if column.is_number else ", ".join(used)
        pair = [0, 1] if column.is_number else most[:2]
        company = "; ".join(f"{values[a]}: {company_of(found, trained, i, a)}" for a in pair)
        rows.append([word, interval, rate(found.q_W[i]), texts, company])
    result.table(
        f"Words used otherwise by {name}",
        ["word", "effect [95 %]", "q", "texts", "more at home with"],
        rows,
        f"{said} q is the rate at which the word would just be among them. The effect is a squared distance between "
        "the company that the word keeps, without the bias of small counts; 1 is as far as two words typically are "
        "apart. The tests are over documents, after what their subjects "
        "explain was taken out. Largest first, by the lower end of the interval; intervals of words that were chosen "
        "for their size are too high.",
    )


def rate(q: float) -> str:
    """A share, with even digits."""
    return "< 0.0001" if q < 0.0001 else f"{q:.4f}"


def company_of(found: Effects, trained: Trained, row: int, value: int) -> str:
    return listed(trained.vocabulary.decode(found.company(row, value, 5))) or "too few texts"
