"""Conditional word similarity (section 3.4, tables 5 and 7): neighbours under A and B, and what moved.

V vocabulary, K word dim, D attribute dim, A attributes, L languages.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import torch
from rich.progress import track

from atd.attributes import correlations
from atd.errors import AtdError
from atd.lm import UnsharedLM
from atd.neighbours import Space, attribute_shift, compare, neighbours, query_vector, rank_shift, unit
from atd.settings import Name, as_name, optional, whole
from atd.vocabulary import SPECIALS
from tasks.engine.check import Fits
from tasks.engine.result import Result
from tasks.engine.settings import typed
from tasks.engine.wording import counted, listed
from tasks.learning.models import Trained, trained_model

if TYPE_CHECKING:
    from omegaconf import DictConfig

SPECIAL_IDS = range(len(SPECIALS))
RANKS = "The nearest words under each, and the place of each under the other: 1 is the nearest."
REPORTED_ATTRIBUTES = 300  # at most so many attributes are compared for one word; each costs a V×K product

FITS = Fits()
GROUPS = {"query": Name | list[Name] | None, "a": Name | None, "b": Name | None}  # keys beside the task's own


@dataclass(frozen=True)
class Settings:
    name: str
    k: Annotated[int, whole(1)]  # neighbours compared
    frequent: Annotated[int | None, optional(whole(1))]  # words among which those that change most are looked for
    shown: Annotated[int, whole(1)]  # rows of each list
    min_count: Annotated[int, whole(0)]  # uses of a word under an attribute, at least, for it to be listed there
    rows: list[dict[str, Name]]  # instead of query, a and b


@torch.inference_mode()
def run(cfg: DictConfig, out: Path) -> Result:
    task = typed(Settings, cfg.task)
    trained = trained_model(cfg)
    x_AD = trained.model.vectors()
    if isinstance(trained.model, UnsharedLM):
        return across_languages(trained, x_AD, as_list(cfg.query), task)
    asked = [None if name is None else as_name(name) for name in (cfg.a, cfg.b)]
    a, b = named_pair(cfg, asked, trained, x_AD)
    x_a, x_b = trained.x(a), trained.x(b)
    often = used(trained, a, task.min_count) & used(trained, b, task.min_count)
    changed, shift = changed_words(trained, x_a, x_b, task, often)
    queries = as_list(cfg.query) or [trained.vocabulary.words[w] for w in changed[: task.shown]]
    rows = [(r["query"], r["a"], r["b"]) for r in task.rows] or [(query, a, b) for query in queries]
    result = Result("similarity", "atd/common", {"atd": {}})
    compare_rows(result, trained, rows, task)
    same = {(one, other) for _, one, other in rows} == {(a, b)}
    under = f"{a} and under {b}" if same else "the two attributes of its row"
    result.verdict = (
        f"Of the {task.k} words nearest to a word {result.rows['atd']['common']:.1f} are the same under {under}, on "
        f"average over {counted(len(rows), 'word')}. The word that changes most between {a} and {b} is "
        f"{listed([trained.vocabulary.words[changed[0]]])}."
    )
    result.table(
        f"Words that change most between {a} and {b}",
        ["word", "rank shift"],
        [[trained.vocabulary.words[w], float(s)] for w, s in zip(changed, shift, strict=True)][: task.shown],
        f"Of words that both use {task.min_count} times or more. 0: the nearest words stay the nearest. 1: a neighbour "
        "under one stands typically e times further down the list under the other.",
    )
    for query in dict.fromkeys(query for query, _, _ in rows[:3]):
        word = phrase(trained, query)
        if len(word) == 1 and len(x_AD) > 2:
            attributes_that_change(result, trained, query, word[0], x_AD, task)
    return result


def as_list(query: Name | Sequence[Name] | None) -> list[str]:
    if query is None:
        return []
    return [as_name(query)] if isinstance(query, str | int | float) else list(map(as_name, query))


def phrase(trained: Trained, query: str) -> list[int]:
    """Ids of the words of a query; an unknown word is an error that offers near spellings."""
    words = [trained.vocabulary.id(w if w in trained.vocabulary else w.lower()) for w in query.split()]
    if not words:
        raise AtdError("query: empty; give a word of the vocabulary")
    return words


def named_pair(cfg: DictConfig, asked: list[str | None], trained: Trained, x_AD: torch.Tensor) -> tuple[str, str]:
    """What the user named; for the rest the attribute least like it, or the two least alike."""
    names = trained.attributes
    a, b = asked
    if a and b:
        return a, b
    if len(names) < 2:
        raise AtdError(f"checkpoint={cfg.checkpoint}: has {len(names)} attribute; comparing needs two")
    similar = correlations(x_AD.numpy())
    if mix := a or b:
        x = trained.x(mix)
        other = names[int((unit(x_AD - x_AD.mean(0)) @ (x - x_AD.mean(0))).argmin())]
        return (mix, other) if a else (other, mix)
    i, j = np.unravel_index(similar.argmin(), similar.shape)
    return names[i], names[j]


def used(trained: Trained, given: str, min_count: int) -> np.ndarray:
    """Whether texts of an attribute or a mix use each word so often (V); of an old checkpoint, whether any texts do."""
    return trained.counts(given if trained.usage is not None else None) >= min_count


def changed_words(
    trained: Trained, x_a: torch.Tensor, x_b: torch.Tensor, task: Settings, often_V: np.ndarray
) -> tuple[list, np.ndarray]:
    """Words in frequent use by how far their neighbourhood moves between A and B, most moved first."""
    V = len(trained.vocabulary)
    words = torch.arange(len(SPECIALS), min(task.frequent or V, V))
    words = words[torch.from_numpy(often_V)[words]]
    if not len(words):
        raise AtdError(f"task.min_count={task.min_count}: no word is used so often under both attributes; lower it")
    unit_a, unit_b = (unit(trained.model.embeddings(x)) for x in (x_a, x_b))
    parts = [rank_shift(unit_a, unit_b, part, task.k) for part in track(words.split(256), "words that change")]
    shift = torch.cat(parts)
    order = shift.argsort(descending=True)
    return words[order].tolist(), shift[order].numpy()


def compare_rows(result: Result, trained: Trained, rows: list[tuple[str, str, str]], task: Settings) -> None:
    """The paper's table, one row per (query, A, B), and the full ranked lists behind it."""
    words, k = trained.vocabulary, task.k
    vector = {mix: trained.x(mix) for _, *pair in rows for mix in pair}
    often = {mix: used(trained, mix, task.min_count) for mix in vector}
    rare = [[*SPECIAL_IDS, *np.flatnonzero(~(often[a] | often[b]))] for _, a, b in rows]
    asked = [(phrase(trained, query), vector[a], vector[b]) for query, a, b in rows]
    started = time.perf_counter()
    compared = [compare(trained.model, *each, k=k, exclude=few) for each, few in zip(asked, rare, strict=True)]
    result.rows["atd"]["milliseconds"] = 1000 * (time.perf_counter() - started) / len(rows)
    result.rows["atd"]["common"] = float(np.mean([len(near.common) for near in compared]))
    body = []
    for row, near in zip(rows, compared, strict=True):
        columns = (near.common, near.unique_a, near.unique_b)
        body.append([*row, *(listed(words.decode(column)) or "none" for column in columns)])
    header = ["query", "A", "B", "common", "only under A", "only under B"]
    if len({(a, b) for _, a, b in rows}) == 1:  # their names stand above what is theirs
        header = ["query", "common", *(f"only under {name}" for name in rows[0][1:])]
        body = [[query, *near] for query, _, _, *near in body]
    about = f"The {k} nearest words by cosine under each attribute, of those that one of the two uses"
    result.table("Conditional word similarity", header, body, f"{about} {task.min_count} times or more.")
    for (query, a, b), near in zip(rows[:3], compared, strict=False):
        lists = zip(near.near_a, near.cosine_a, near.rank_in_b, near.near_b, near.cosine_b, near.rank_in_a, strict=True)
        body = [[words.words[n], c, r, words.words[m], d, s] for n, c, r, m, d, s in lists]
        result.table(f"Neighbours of {query}", [a, "cosine", "rank there", b, "cosine", "rank there"], body, RANKS)


def attributes_that_change(result: Result, trained: Trained, query: str, word: int, x_AD, task: Settings) -> None:
    """Attributes by how far they move a word's neighbourhood from where it is under the mean attribute."""
    step = -(-len(x_AD) // REPORTED_ATTRIBUTES)
    shift = attribute_shift(trained.model, word, x_AD[::step], x_AD.mean(0), task.k)
    order = shift.argsort(descending=True)[: task.shown]
    names = trained.attributes[::step]
    rows = []
    for i in order.tolist():
        ids, _ = neighbours(trained.model.embeddings(x_AD[::step][i]), word, 5, exclude=[word, *SPECIAL_IDS])
        rows.append([names[i], float(shift[i]), listed(trained.vocabulary.decode(ids))])
    result.table(f"Attributes that change {query} most", ["attribute", "rank shift", "nearest words"], rows)


def across_languages(trained: Trained, x_AD: torch.Tensor, queries: list[str], task: Settings) -> Result:
    """Neighbours of a word or phrase of the first language in every language, each under its own vector."""
    model = trained.model
    assert isinstance(model, UnsharedLM)
    queries = queries or trained.vocabulary.words[len(SPECIALS) + 50 :: 50][: task.shown]
    vectors = [model.embeddings(x)[model.words(i)] for i, x in enumerate(x_AD)]
    spaces = [Space(vectors_VK) for vectors_VK in vectors]
    rows, best = [], []
    for query in queries:
        vector_1K = query_vector(vectors[0], phrase(trained, query))[None]
        row = [query]
        for vocabulary, space in zip(trained.vocabularies, spaces, strict=True):
            ids, cosine = space.of_vectors(vector_1K, task.k, exclude=SPECIAL_IDS)
            row.append(listed(vocabulary.decode(ids[0, :5])))
        best.append(float(cosine[0, 0]))
        rows.append(row)
    result = Result("similarity", "atd/cosine", {"atd": {"cosine": float(np.mean(best))}})
    result.table("Neighbours across languages", ["query", *trained.attributes], rows)
    return result
