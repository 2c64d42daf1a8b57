"""Effects: how far the use of every word moves between values of a column, with intervals and tests over documents.

    found = effects(texts, values, vectors)          values: a whole number per document, or a real one
    found.table(vocabulary.words, names)             the surest first

The effect θ is a squared distance between mean uses, without the bias that small counts bring; it can come out below
zero. θ = 1 is how far apart two words of the vocabulary typically are. Along a number it is the distance over two
standard deviations, which for two equally frequent values is the distance between them.

Documents, or groups of them such as authors, are what is exchanged under "no effect": words within a document depend on
one another and are not separate evidence. What the subject of a document explains about the company of its words is
taken out first, unless `subject` says no: else all words of documents about football would seem to have changed. This
is linear, and lessens what differs in subject without removing all of it. It also lessens changes of use that come with
another subject.

An interval covers the effect of a word that was chosen beforehand. Those of the words with the smallest p are too high.
Three columns of 12,000 posts, 2.4 million words, take 20 s of one core and 1 GB.

A values, W words tested, n documents, r dims, T words of all texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from atd.effects.company import Cells, Company, cells_of, table_of
from atd.effects.measure import Measure, fit_measure
from atd.effects.permutations import discoveries, interval, noise_along
from atd.effects.words import WordEffect, along_number, between_values
from atd.errors import AtdError
from atd.ragged import Ragged

BLOCK = 1 << 16  # occurrences whose words are measured at once
MANY = 1000  # documents of a word, from which on single precision is enough


@dataclass(frozen=True)
class Effects:
    """What `effects` found; of every array one entry per word tested."""

    words_W: np.ndarray
    effect_W: np.ndarray  # θ
    low_W: np.ndarray  # 95 % interval of θ
    high_W: np.ndarray
    p_W: np.ndarray  # over all ways to deal the values to the documents that have the word
    q_W: np.ndarray  # false discovery rate over words
    documents_WA: np.ndarray  # or groups; of a number, one column
    occurrences_WA: np.ndarray
    means_WAr: np.ndarray  # mean use from the mean over all; of a number, one standard deviation below and above
    measure: Measure

    def __len__(self) -> int:
        return len(self.words_W)

    @property
    def distance_W(self) -> np.ndarray:
        """√θ, and 0 where θ came out below zero."""
        return np.sqrt(np.maximum(self.effect_W, 0))

    def order(self) -> np.ndarray:
        """Rows, the surest first."""
        return np.lexsort([-self.effect_W, self.p_W])

    def found(self, rate: float = 0.05) -> np.ndarray:
        """Rows of the words found at a false discovery rate, the surest first."""
        order = self.order()
        return order[self.q_W[order] <= rate]

    def company(self, row: int, value: int, k: int = 10) -> np.ndarray:
        """The k tested words that are more at home around a word under one value than under the others.

        None if the value has too few documents with the word.
        """
        mean_Ar = self.means_WAr[row].astype(np.float64)
        if np.isnan(mean_Ar[value]).any():
            return np.zeros(0, self.words_W.dtype)
        others_r = np.nanmean(np.delete(mean_Ar, value, axis=0), axis=0)
        home_W = self.measure.table_Vr[self.words_W, :-1] @ self.measure.P_rr @ (mean_Ar[value] - others_r)
        home_W[row] = -np.inf
        return self.words_W[np.argsort(-home_W)[:k]]

    def table(self, words: Sequence[str], names: Sequence[str], rows: np.ndarray | None = None) -> list[dict]:
        """A row per word: effect, interval, p, q, and documents and occurrences under each value."""
        out = []
        for i in self.order() if rows is None else rows:
            row = {"word": words[self.words_W[i]], "effect": float(self.effect_W[i]), "low": float(self.low_W[i])}
            row |= {"high": float(self.high_W[i]), "p": float(self.p_W[i]), "q": float(self.q_W[i])}
            for a, name in enumerate(names):
                row |= {f"documents {name}": int(self.documents_WA[i, a])}
                row |= {f"occurrences {name}": int(self.occurrences_WA[i, a])}
            out.append(row)
        return out


def effects(
    texts: Ragged,
    values_n: np.ndarray,
    vectors_VK: np.ndarray,
    *,
    groups_n: np.ndarray | None = None,
    **options: Any,
) -> Effects:
    """The effect of one column; `options` are those of `effects_of_columns`."""
    (found,) = effects_of_columns(texts, [(values_n, groups_n)], vectors_VK, **options)
    if isinstance(found, AtdError):
        raise found
    return found


def effects_of_columns(
    texts: Ragged,
    columns: Sequence[tuple[np.ndarray, np.ndarray | None]],
    vectors_VK: np.ndarray,
    *,
    min_documents: int = 10,
    reach: int = 5,
    subject: bool = True,
    words: Sequence[int] | np.ndarray | None = None,
    measure: Measure | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> list[Effects | AtdError]:
    """The effect of each column on every word that has `min_documents` documents under two of its values.

    The texts are read once for all columns. A column is (values_n, groups_n). `values_n` are whole numbers from 0, or
    real numbers; below zero or nan means unknown. `groups_n` names what is exchanged in place of documents, or is
    None; all documents of a group have the same value, and then groups are counted. `vectors_VK` are any word vectors;
    zeros mean none. `words` limits what is tested, `measure` is one fitted before. `seed` chooses the documents that
    the measure is fitted to; the tests draw nothing at random.

    For a column under which no word has documents enough, the error that says so.
    """
    owner_T, tokens_T = texts.owner, np.asarray(texts.tokens)
    tested = []
    for values_n, groups_n in columns:
        values_n = _checked(texts, np.asarray(values_n), vectors_VK, min_documents)
        tested.append((values_n, None if groups_n is None else _units(np.asarray(groups_n), values_n)))
    known_n = np.any([_known(values_n) for values_n, _ in tested], axis=0)
    keep_T = (tokens_T >= 0) & known_n[owner_T]
    if words is not None and measure is not None:
        keep_T &= np.isin(tokens_T, words)
    cells = cells_of(tokens_T, owner_T, keep_T, len(texts))
    ids_W, first_W = cells.words()
    often_V = np.zeros(len(vectors_VK), bool)
    often_V[ids_W[np.diff(first_W) >= 2 * min_documents]] = True
    table_Vr = table_of(vectors_VK, tokens_T) if measure is None else measure.table_Vr
    company = Company(texts, table_Vr, reach)
    if not often_V.any():
        raise AtdError(f"no word is in {2 * min_documents} documents; lower min_documents or give more text")
    if measure is None:
        measure = fit_measure(company, keep_T & often_V[tokens_T], len(texts), subject=subject, seed=seed)
    if words is not None:
        often_V &= np.isin(np.arange(len(often_V)), words)
    cells = cells.take(often_V[cells.word_c])
    found = [_Collected(values_n, unit_n, measure, min_documents) for values_n, unit_n in tested]
    with threadpool_limits(1, "blas"):  # thousands of small products: threads would wait for each other
        for word in _words(company, cells, measure, progress):
            for one in found:
                one.add(*word)
    return [one.effects() for one in found]


def _known(values_n: np.ndarray) -> np.ndarray:
    return np.isfinite(values_n) if values_n.dtype.kind == "f" else values_n >= 0


class _Collected:
    """The effects of a column on word after word, and arrays of them."""

    def __init__(self, values_n: np.ndarray, unit_n: np.ndarray | None, measure: Measure, least: int):
        self.values_n, self.unit_n, self.measure, self.least = values_n, unit_n, measure, least
        self.known_n = _known(values_n)
        self.number = values_n.dtype.kind == "f"
        self.A = 1 if self.number else int(values_n.max()) + 1
        self.spread = float(np.nanstd(values_n))
        self.rows: list[tuple[int, WordEffect, np.ndarray, np.ndarray]] = []

    def add(self, word: int, y_nr: np.ndarray, times_n: np.ndarray, document_n: np.ndarray) -> None:
        value_n = self.values_n[document_n]
        known_n = self.known_n[document_n]
        if not known_n.all():
            y_nr, times_n, document_n, value_n = (a[known_n] for a in (y_nr, times_n, document_n, value_n))
        if self.unit_n is not None:
            y_nr, times_n, value_n = _merged(y_nr, times_n, value_n, self.unit_n[document_n])
        y_nr = y_nr if len(y_nr) >= MANY else y_nr.astype(np.float64)
        u_n = self.measure.weights(times_n).astype(y_nr.dtype)
        if self.number:
            one = along_number(y_nr, u_n, value_n, self.least, self.spread)
        else:
            one = between_values(y_nr, u_n, value_n, self.least, self.A)
        if one is not None:
            code_n = np.zeros(len(value_n), int) if self.number else value_n
            times_A = np.bincount(code_n, times_n, self.A).astype(int)
            self.rows.append((word, one, np.bincount(code_n, minlength=self.A), times_A))

    def effects(self) -> Effects | AtdError:
        if not self.rows:
            return AtdError(
                f"no word has {self.least} documents under two values; lower min_documents or give more text"
            )
        words, ones, documents, occurrences = zip(*self.rows, strict=True)
        effect_W, linear_W, anywhere_W, square_W, p_W = (
            np.array([getattr(one, name) for one in ones]) for name in ("effect", "linear", "anywhere", "square", "p")
        )
        sure_W = discoveries(p_W) <= 0.05
        along_W = noise_along(effect_W, linear_W, anywhere_W, square_W, sure_W)
        low_W, high_W = interval(effect_W, along_W, square_W)
        counted = np.array(documents), np.array(occurrences), np.stack([one.means_Ar for one in ones])
        return Effects(np.array(words), effect_W, low_W, high_W, p_W, discoveries(p_W), *counted, self.measure)


def _words(
    company: Company, cells: Cells, measure: Measure, progress: Callable[[int, int], None] | None
) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """(word, its use in each document, its occurrences there, the documents), word after word."""
    ids_W, first_W = cells.words()
    begin_W = cells.begin_c[first_W]
    a = 0
    while a < len(ids_W):
        b = max(int(np.searchsorted(begin_W, begin_W[a] + BLOCK)), a + 1)
        b = min(b, len(ids_W))
        y_cr, z_cr, has_c = company.means(cells, first_W[a], first_W[b])
        e_cr = measure.residuals(y_cr, z_cr)
        for w in range(a, b):
            here = np.flatnonzero(has_c[first_W[w] - first_W[a] : first_W[w + 1] - first_W[a]]) + first_W[w]
            yield int(ids_W[w]), e_cr[here - first_W[a]], cells.times_c[here], cells.document_c[here]
        if progress is not None:
            progress(b, len(ids_W))
        a = b


def _merged(y_nr, times_n, value_n, unit_n) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means over the occurrences of each group."""
    _, first, group_n = np.unique(unit_n, return_index=True, return_inverse=True)
    times_g = np.bincount(group_n, times_n)
    total_gr = np.zeros((len(first), y_nr.shape[1]), y_nr.dtype)
    np.add.at(total_gr, group_n, y_nr * times_n[:, None].astype(y_nr.dtype))
    return total_gr / times_g[:, None].astype(y_nr.dtype), times_g, value_n[first]


def _units(groups_n: np.ndarray, values_n: np.ndarray) -> np.ndarray:
    """Groups as numbers; an error if a group has several values, for then it cannot be exchanged whole."""
    _, first, unit_n = np.unique(groups_n, return_index=True, return_inverse=True)
    differs_n = (values_n != values_n[first][unit_n]) & ~(values_n != values_n)
    if differs_n.any():
        raise AtdError(f"group {groups_n[differs_n][0]}: its documents have several values; compare documents instead")
    return unit_n


def _checked(texts: Ragged, values_n: np.ndarray, vectors_VK: np.ndarray, min_documents: int) -> np.ndarray:
    if len(values_n) != len(texts):
        raise AtdError(f"{len(values_n)} values for {len(texts)} documents; give one for each")
    if values_n.dtype.kind not in "iufb":
        raise AtdError("values are neither whole nor real numbers; number the names of the column from 0")
    if min_documents < 3:
        raise AtdError(f"min_documents={min_documents}: must be 3 or more")
    if len(texts.tokens) and int(texts.tokens.max()) >= len(vectors_VK):
        raise AtdError(f"the texts have word {int(texts.tokens.max())}; there are {len(vectors_VK)} vectors")
    return values_n if values_n.dtype.kind == "f" else values_n.astype(np.int64)
