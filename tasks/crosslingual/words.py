"""Words across languages side by side: the paper's tables of neighbours, collocations, words of one kind.

K dim. Similarity is the cosine between words under their own language's vector.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from atd.neighbours import unit
from atd.ragged import Ragged, offsets_of
from atd.vocabulary import SPECIALS

if TYPE_CHECKING:
    from atd.ranking import RankingModel
    from datamodules.europarl_rcv import EuroparlRCV

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
