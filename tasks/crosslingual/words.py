"""Words across languages: translation by nearest neighbour, the paper's tables of neighbours, collocations.

V words of a language, K dim, Q queries. Similarity is the cosine between words under their own language's vector.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from atd.errors import AtdError
from atd.neighbours import unit
from atd.ragged import Ragged, offsets_of
from atd.vocabulary import SPECIALS

if TYPE_CHECKING:
    from atd.ranking import RankingModel
    from atd.vocabulary import Vocabulary
    from datamodules.europarl_rcv import EuroparlRCV
    from datamodules.pairs import Pairs

QUERIES = ("january", "market", "war", "said", "two", "fisheries", "women", "budget")
PHRASES = ("declare war", "private sector", "one million euros", "united states", "first session", "european union",
           "police officer", "on monday", "south africa", "poor performance", "low income", "military invasion",
           "why we oppose", "church and state", "islamic republic")  # fmt: skip
GROUPS = {  # English and German words of one kind, for the map
    "months": "january januar, february februar, march märz, april april, may mai, june juni, july juli, "
    "august august, september september, october oktober, november november, december dezember",
    "countries": "germany deutschland, france frankreich, italy italien, spain spanien, portugal portugal, "
    "greece griechenland, austria österreich, belgium belgien, denmark dänemark, sweden schweden, finland finnland, "
    "ireland irland, poland polen, hungary ungarn, turkey türkei, russia russland, china china, japan japan, "
    "israel israel, iraq irak, iran iran, india indien",
    "days": "monday montag, tuesday dienstag, wednesday mittwoch, thursday donnerstag, friday freitag, sunday sonntag, "
    "today heute, yesterday gestern, tomorrow morgen, week woche, year jahr, month monat",
    "numbers": "one eins, two zwei, three drei, four vier, five fünf, six sechs, seven sieben, eight acht, nine neun, "
    "ten zehn, hundred hundert, million million, billion milliarde, half hälfte, first erste, second zweite, "
    "third dritte",
}


def word_pairs(group: str) -> list[tuple[str, str]]:
    """The English and German words of a group."""
    pairs = (entry.split() for entry in GROUPS[group].split(", "))
    return [(english, german) for english, german in pairs]


def induced_dictionary(
    pairs: Pairs, source: Vocabulary, target: Vocabulary, words: int = 1500, skipped: int = 50
) -> list[tuple[int, int]]:
    """Word pairs that stand in the same sentence pairs: each the other's best Dice coefficient, and at least 0.3.

    Of the most frequent `words` of the source, after the `skipped` commonest, which go with everything.
    """
    first = len(SPECIALS) + skipped
    X, Y = (presence(side, len(v)) for side, v in ((pairs.source, source), (pairs.target, target)))
    X, Y = X[:, first : first + words], Y[:, len(SPECIALS) : 20_000]
    together = (X.T @ Y).tocsr()
    size_x, size_y = (np.asarray(m.sum(0)).ravel() for m in (X, Y))
    rows = np.repeat(np.arange(together.shape[0]), np.diff(together.indptr))
    together.data = 2 * together.data / (size_x[rows] + size_y[together.indices])
    best_y = np.asarray(together.argmax(1)).ravel()
    best_x = np.asarray(together.argmax(0)).ravel()
    dice = np.asarray(together.max(1).todense()).ravel()
    kept = np.flatnonzero((best_x[best_y] == np.arange(len(best_y))) & (dice >= 0.3))
    return [(int(i) + first, int(best_y[i]) + len(SPECIALS)) for i in kept]


def presence(sentences: Ragged, V: int) -> sparse.csc_array:
    """1 where a sentence (row) has the word (column)."""
    shape = len(sentences), V
    m = sparse.csr_array((np.ones(len(sentences.tokens), np.float32), sentences.tokens, sentences.offsets), shape=shape)
    m.sum_duplicates()
    m.data[:] = 1
    return m.tocsc()


def read_dictionary(path: str | Path, source: Vocabulary, target: Vocabulary) -> list[tuple[int, int]]:
    """Lines `word<TAB>translation`; pairs with an unknown word are left out."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise AtdError(f"task.dictionary={path}: {error.strerror}; give a file of word<TAB>translation lines") from None
    entries = [line.lower().split("\t")[:2] for line in lines if "\t" in line]
    known = [(source.index[a], target.index[b]) for a, b in entries if a in source and b in target]
    if not known:
        raise AtdError(f"task.dictionary={path}: no pair of words that both vocabularies have")
    return known


def translation_precision(a_VK: Tensor, b_VK: Tensor, dictionary: list[tuple[int, int]]) -> tuple[float, float]:
    """Per cent of words whose translation is the nearest, and among the five nearest, words of the other language.

    A word may have several translations in the dictionary; any of them counts.
    """
    wanted: dict[int, set[int]] = {}
    for word, translation in dictionary:
        wanted.setdefault(word, set()).add(translation)
    words = torch.tensor(list(wanted))
    cosine = unit(a_VK[words]) @ unit(b_VK).T
    cosine[:, : len(SPECIALS)] = -2
    best = cosine.topk(5, 1).indices.tolist()
    hits = [[w in wanted[word] for w in found] for word, found in zip(wanted, best, strict=True)]
    return 100 * float(np.mean([h[0] for h in hits])), 100 * float(np.mean([any(h) for h in hits]))


def neighbour_rows(
    model: RankingModel, data: EuroparlRCV, queries: tuple[str, ...] = QUERIES, k: int = 3
) -> list[list[str]]:
    """[query, its nearest words in each language]: the right half of the paper's table of neighbours."""
    tables = [unit(model.embeddings(i)) for i in range(len(data.languages))]
    frequent = [torch.from_numpy(v.counts >= 20) for v in data.vocabularies]
    rows = []
    for query in queries:
        if query not in data.vocabularies[0]:
            continue
        word = data.vocabularies[0].index[query]
        row = [query]
        for i, (table, vocabulary) in enumerate(zip(tables, data.vocabularies, strict=True)):
            cosine = (table @ tables[0][word]).masked_fill(~frequent[i], -2)
            cosine[: len(SPECIALS)] = -2
            if i == 0:
                cosine[word] = -2
            row.append(", ".join(vocabulary.decode(cosine.topk(k).indices.tolist())))
        rows.append(row)
    return rows


def collocations(sentences: Ragged, most: int = 30_000, lines: int = 40_000) -> list[np.ndarray]:
    """The runs of one to three known words that occur most often, at least three times, within sentences."""
    tokens = sentences.tokens[: sentences.offsets[min(lines, len(sentences))]].astype(np.int64)
    sentence = sentences.owner[: len(tokens)]
    found: list[tuple[int, np.ndarray]] = []
    for n in (1, 2, 3):
        starts = len(tokens) - n + 1
        runs = np.stack([tokens[i : starts + i] for i in range(n)], 1)
        whole = (runs >= len(SPECIALS)).all(1) & (sentence[:starts] == sentence[n - 1 :])
        distinct, count = np.unique(runs[whole], axis=0, return_counts=True)
        found += [(int(c), run) for c, run in zip(count[count >= 3], distinct[count >= 3], strict=True)]
    found.sort(key=lambda item: -item[0])
    return [run for _, run in found[:most]]


def collocation_rows(
    model: RankingModel, data: EuroparlRCV, phrases: tuple[str, ...] = PHRASES, k: int = 3
) -> list[list[str]]:
    """[query, its nearest collocations in each language]; a collocation is the unit sum of its conditioned words."""
    texts = {0: data.training()[0].source} | {pairs.languages[1]: pairs.target for pairs in data.training()}
    queries = [p for p in phrases if all(w in data.vocabularies[0] for w in p.split())]
    columns = []
    for i, text in texts.items():
        runs = collocations(text)
        vectors = model.sentences(Ragged(np.concatenate(runs), offsets_of([len(r) for r in runs])), i)
        columns.append(nearest_runs(model, data, queries, vectors, runs, i, k))
    return [[query, *(column[q] for column in columns)] for q, query in enumerate(queries)]


def nearest_runs(
    model: RankingModel,
    data: EuroparlRCV,
    queries: list[str],
    vectors: Tensor,
    runs: list[np.ndarray],
    language: int,
    k: int,
) -> list[str]:
    """The k runs of a language nearest to each query, which is in the first language; the query itself is left out."""
    out = []
    for query in queries:
        ids = data.vocabularies[0].encode(query.split())
        v = model.sentences(Ragged(ids, offsets_of([len(ids)])), 0)[0]
        cosine = vectors @ v
        names = [" ".join(data.vocabularies[language].decode(runs[j])) for j in cosine.topk(k + 1).indices.tolist()]
        out.append("; ".join([name for name in names if language or name != query][:k]))
    return out
