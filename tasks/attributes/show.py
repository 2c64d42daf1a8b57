"""What a trained model knows: maps of its attributes, conditional neighbours, text under each vector.

Everything works with thousands of attributes: pictures and tables show those with most text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from atd.attributes import correlations
from atd.neighbours import compare, rank_shift, unit
from atd.trained import Trained
from atd.vocabulary import NUM, SPECIALS
from tasks.attributes.settings import Settings
from tasks.engine.result import Result
from tasks.engine.wording import listed
from tasks.figures.charts import heatmap
from tasks.figures.maps import OTHER, groups_of, plane, scatter_map

if TYPE_CHECKING:
    from datamodules.corpus import Corpus

MAPPED = 500  # attributes of a term on its map
FAMILY = "^[^-/]+"  # of a name such as austen-emma: names that share it share a colour
COMPARED = 12  # attributes among which the two least alike are looked for: those with most text
LISTED = 40  # lines of a table
FREQUENT = 15  # uses under both attributes that make a word worth showing
DOCUMENTS = 3  # of both attributes that it must occur in
SEEN = 3  # uses under either that let a word be a neighbour
CANDIDATES = 5000  # most frequent words among which those that change most are looked for
SHOWN = 8


def largest(trained: Trained, among_A: np.ndarray, most: int) -> np.ndarray:
    """The attributes with most text, at most so many, in their order."""
    words_A = trained.design.words_A
    chosen = among_A if not len(words_A) else among_A[np.argsort(-words_A[among_A], kind="stable")]
    return np.sort(chosen[:most])


def show_maps(result: Result, trained: Trained, idle: Sequence[str] = ()) -> None:
    """A map, a picture of likeness and a list of nearest attributes for every term; `idle` columns add nothing."""
    design, names = trained.design, trained.attributes
    for t, term in enumerate(design.terms):
        own_A = np.flatnonzero(design.term_A == t)
        if len(own_A) < 2:
            continue
        column = "/".join(design.columns[q].name for q in term)
        shown = largest(trained, own_A, MAPPED)
        x_AD = trained.model.vectors().detach().numpy()[shown]
        labels = [names[a].removeprefix(f"{column}=") for a in shown]
        few = "" if len(shown) == len(own_A) else f" The {len(shown)} with most text, of {len(own_A):,}."
        suffix = "" if len(design.terms) == 1 else f"_{t}"
        if len(shown) > 2:
            chance = " It adds nothing to the other columns, so much of this may be chance." if column in idle else ""
            groups = groups_of(labels, FAMILY)
            figure = scatter_map(plane(x_AD), labels, groups if set(groups) != {OTHER} else None)
            caption = f"The vectors of {column} in the plane, near = alike.{few}{chance}"
            result.figure(f"attribute_map{suffix}", figure, caption, f"Map of {column}")
        similar = correlations(x_AD)
        if 2 < len(shown) <= 60:
            figure = heatmap(similar, labels, "correlation")
            caption = f"How alike the vectors of {column} are."
            result.figure(f"attribute_similarity{suffix}", figure, caption, f"Likeness by {column}")
        if len(shown) > 2:
            show_nearest(result, column, similar, labels)


def show_nearest(result: Result, column: str, similar: np.ndarray, labels: list[str]) -> None:
    nearest = (similar - 2 * np.eye(len(labels))).argmax(1)
    rows = [[labels[i], labels[j], float(similar[i, j])] for i, j in enumerate(nearest[:LISTED])]
    result.table(f"Nearest by {column}", [column, "nearest", "correlation"], rows)


def chosen_pair(task: Settings, trained: Trained, idle: Sequence[str] = ()) -> tuple[str, str]:
    """What the user named; otherwise the two least alike of one term, among those with most text.

    The term is the one with most attributes, of those of two or more that are not `idle` if there is one.
    """
    if task.a is not None and task.b is not None:
        return task.a, task.b
    term_A = trained.design.term_A
    size_T = np.bincount(term_A)
    names_T = ["/".join(trained.design.columns[q].name for q in term) for term in trained.design.terms]
    telling_T = size_T * np.array([name not in idle for name in names_T])
    term = (telling_T if telling_T.max() > 1 else size_T).argmax()
    among = largest(trained, np.flatnonzero(term_A == term), COMPARED)
    x_AD, names = trained.model.vectors().detach().numpy(), trained.attributes
    one = task.a if task.a is not None else task.b
    if one is not None:
        similar = correlations(np.vstack([trained.vector(one), x_AD[among]]))[0, 1:]
        other = names[among[similar.argmin()]]
        return (one, other) if task.a is not None else (other, one)
    similar = correlations(x_AD[among])
    a, b = np.unravel_index(similar.argmin(), similar.shape)
    return names[among[a]], names[among[b]]


def uses(data: Corpus, attribute: int) -> tuple[np.ndarray, np.ndarray]:
    """How often each word occurs in training text with the attribute (V), and in how many documents (V)."""
    train, V = data.encoded["train"], len(data.vocabulary)
    has = train.attributes == attribute
    if train.shares is not None:
        has &= train.shares >= 0.5
    has = has.any(1) if has.ndim == 2 else has
    chosen = has if train.per_token else np.repeat(has, train.lengths)
    tokens, owner = train.tokens[chosen], train.owner[chosen]
    pairs = np.unique(owner.astype(np.int64) * V + tokens) % V
    return np.bincount(tokens, minlength=V), np.bincount(pairs, minlength=V)


@torch.inference_mode()
def show_neighbours(result: Result, trained: Trained, data: Corpus, word: str | None, a: str, b: str) -> None:
    """The paper's table of conditional neighbours, for one word or for those that change most."""
    model, vocabulary = trained.model, trained.vocabulary
    x_a, x_b = trained.x(a), trained.x(b)
    known = {name: i for i, name in enumerate(trained.attributes)}
    used = [uses(data, known[name]) for name in (a, b) if name in known]
    if word is not None:
        words = [vocabulary.id(word)]
    else:
        enough = [(count >= FREQUENT) & (documents >= DOCUMENTS) for count, documents in used]
        both = np.flatnonzero(np.logical_and.reduce(enough)) if enough else np.arange(len(vocabulary))
        both = both[[any(map(str.isalnum, vocabulary.words[w])) for w in both]]  # what marks are near says little
        frequent = torch.from_numpy(both[both >= len(SPECIALS)][:CANDIDATES])
        if not len(frequent):
            return
        shift = rank_shift(unit(model.embeddings(x_a)), unit(model.embeddings(x_b)), frequent)
        words = frequent[shift.argsort(descending=True)[:SHOWN]].tolist()
    rare: list[int] = np.flatnonzero(sum(count for count, _ in used) < SEEN).tolist() if used else []
    rows = []
    for w in words:
        near = compare(model, w, x_a, x_b, exclude=[*range(len(SPECIALS)), *rare])
        columns = (near.common, near.unique_a, near.unique_b)
        rows.append([vocabulary.words[w], *(listed(vocabulary.decode(ids[:SHOWN])) or "none" for ids in columns)])
    result.table(
        "Conditional word similarity",
        ["word", "common", f"only under {a}", f"only under {b}"],
        rows,
        "The 15 nearest words under each attribute vector, compared."
        + ("" if word else " The words shown are those frequent under both whose neighbours change most."),
    )


def show_samples(result: Result, trained: Trained, a: str, b: str, task: Settings, seed: int) -> None:
    """Text in the manner of A, of B and of their average."""
    mixes = {a: trained.vector(a), b: trained.vector(b)}
    mixes[f"0.5*{a} + 0.5*{b}"] = (mixes[a] + mixes[b]) / 2
    samples = [(mix, trained.generate(x, task.words, seed, task.temperature)) for mix, x in mixes.items()]
    said = ["Text drawn from the model under each vector, and under their average."]
    if any(NUM in text.split() for _, text in samples):
        said.append(f"{NUM} stands for a number.")
    result.text("Samples", said, samples)
