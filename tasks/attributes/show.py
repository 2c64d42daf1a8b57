"""What the tour shows of a trained model: a map of its attributes, conditional neighbours, text under each vector."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from atd.attributes import correlations
from atd.generate import generate
from atd.models import Trained
from atd.neighbours import compare, rank_shift, unit
from atd.vocabulary import BOS_ID, SPECIALS, UNK_ID
from tasks.engine.result import Result
from tasks.figures.charts import heatmap
from tasks.figures.maps import plane, scatter_map
from tasks.attributes.settings import Settings

if TYPE_CHECKING:
    from datamodules.corpus import Corpus

FREQUENT = 15  # uses under both attributes that make a word worth showing
SEEN = 3  # uses under either that let a word be a neighbour
SHOWN = 8


def vectors(trained: Trained) -> np.ndarray:
    return trained.model.vectors().detach().numpy()


def show_attributes(result: Result, trained: Trained) -> None:
    x_AD, names = vectors(trained), trained.attributes
    if len(names) < 2:
        return
    similar = correlations(x_AD)
    result.figure("attribute_map", scatter_map(plane(x_AD), names), "Attribute vectors in the plane: near = alike.")
    if len(names) <= 60:
        result.figure("attribute_similarity", heatmap(similar, names, "correlation"), "How alike the vectors are.")
    order = np.argsort(-(similar - 2 * np.eye(len(names))), axis=1)
    rows = [[names[i], names[order[i, 0]], float(similar[i, order[i, 0]])] for i in range(min(len(names), 40))]
    result.table("Nearest attributes", ["attribute", "nearest", "correlation"], rows)


def chosen_pair(task: Settings, trained: Trained) -> tuple[int, int]:
    """The attributes the user named; otherwise the two least alike."""
    names = trained.attributes
    similar = correlations(vectors(trained))
    a, b = (int(i) for i in np.unravel_index(similar.argmin(), similar.shape))
    if task.a is not None:
        a = names.index(task.a)
        b = int(similar[a].argmin())
    if task.b is not None:
        b = names.index(task.b)
        a = a if task.a is not None else int(similar[b].argmin())
    return a, b


def uses(data: Corpus, attribute: int) -> np.ndarray:
    """How often each word of the vocabulary occurs in training text with the attribute (V)."""
    train = data.encoded["train"]
    has = train.attributes == attribute
    has = has.any(1) if has.ndim == 2 else has
    tokens = train.tokens[has if train.per_token else np.repeat(has, train.lengths)]
    return np.bincount(tokens, minlength=len(data.vocabulary))


@torch.inference_mode()
def show_neighbours(
    result: Result, trained: Trained, word: str | None, a: int, b: int, uses_a: np.ndarray, uses_b: np.ndarray
) -> None:
    """The paper's table of conditional neighbours, for one word or for those that change most."""
    model, vocabulary, names = trained.model, trained.vocabulary, trained.attributes
    x = model.vectors()
    if word is not None:
        words = [vocabulary.id(word)]
    else:
        both = np.flatnonzero(np.minimum(uses_a, uses_b) >= FREQUENT)
        frequent = torch.from_numpy(both[both >= len(SPECIALS)])
        if not len(frequent):
            return
        shift = rank_shift(unit(model.embeddings(x[a])), unit(model.embeddings(x[b])), frequent)
        words = frequent[shift.argsort(descending=True)[:SHOWN]].tolist()
    strange = [*range(len(SPECIALS)), *np.flatnonzero(uses_a + uses_b < SEEN)]
    rows = []
    for w in words:
        near = compare(model, w, x[a], x[b], exclude=strange)
        columns = (near.common, near.unique_a, near.unique_b)
        rows.append([vocabulary.words[w], *(", ".join(vocabulary.decode(ids[:SHOWN])) for ids in columns)])
    result.table(
        "Conditional word similarity",
        ["word", "common", f"only under {names[a]}", f"only under {names[b]}"],
        rows,
        "The 15 nearest words under each attribute vector, compared."
        + ("" if word else " The words shown are those frequent under both whose neighbours change most."),
    )


def show_samples(result: Result, trained: Trained, a: int, b: int, task: Settings, seed: int) -> None:
    """Text in the manner of A, of B and of their average."""
    names, vocabulary = trained.attributes, trained.vocabulary
    samples = []
    for mix in (names[a], names[b], f"0.5*{names[a]} + 0.5*{names[b]}"):
        generator = torch.Generator().manual_seed(seed)
        ids = generate(
            trained.model,
            trained.x(mix),
            [BOS_ID],
            task.words,
            generator=generator,
            temperature=task.temperature,
            forbid=(UNK_ID, BOS_ID),
        )
        samples.append((mix, " ".join(vocabulary.decode(ids[0]))))
    result.text("Samples", ["Text drawn from the model under each vector, and under their average."], samples)
