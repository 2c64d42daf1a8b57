"""The quick tour: what attribute vectors are good for, on any corpus with one attribute per text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from atd.attributes import correlations
from atd.errors import AtdError
from atd.expression import parse
from atd.generate import generate
from atd.neighbours import compare, rank_shift, unit
from atd.vocabulary import BOS_ID, SPECIALS, UNK_ID
from tasks.engine.result import Result
from tasks.figures.charts import heatmap, learning_curves
from tasks.figures.maps import plane, scatter_map
from tasks.learning.corpora import open_corpus
from tasks.learning.evaluation import held_out, perplexity, trigram_perplexities
from tasks.learning.language_model import LanguageModel, language_model, lbl_of
from tasks.learning.training import fit

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from datamodules.corpus import Corpus

FREQUENT = 15  # uses under both attributes that make a word worth showing
SEEN = 3  # uses under either that let a word be a neighbour
SHOWN = 8


def run(cfg: DictConfig, out: Path) -> Result:
    data = open_corpus(cfg)
    attributes_exist(cfg, data)
    models, curves, rows = {}, {}, {}
    for name, config in {"atd": dict(cfg.model), "lbl": lbl_of(cfg)}.items():
        module = language_model(config, data, cfg)
        curves[name] = fit(module, data, cfg, out, name)
        models[name] = module
        rows[name] = {split: perplexity(module, loader) for split, loader in held_out(data).items()}
    rows["trigram"] = trigram_perplexities(data)
    rows = {n: {"perplexity": r["test"], "perplexity_dev": r["val"]} for n, r in rows.items()}
    result = Result("tour", "atd/perplexity", rows, lower_is_better=True)
    explain(result, data)
    result.figure("learning_curves", learning_curves(curves), "Exact validation perplexity after each epoch.")
    show_attributes(result, models["atd"])
    a, b = chosen_pair(cfg, models["atd"])
    show_neighbours(result, models["atd"], cfg.task.word, a, b, uses(data, a), uses(data, b))
    show_samples(result, models["atd"], a, b, cfg)
    return result


def attributes_exist(cfg: DictConfig, data: Corpus) -> None:
    for key in ("a", "b"):
        name = cfg.task[key]
        if name is not None and name not in data.attributes:
            raise AtdError(f"task.{key}={name}: unknown attribute; it is one of {', '.join(data.attributes)}")
    if cfg.task.word is not None:
        data.vocabulary.id(cfg.task.word)


def explain(result: Result, data: Corpus) -> None:
    train = len(data.encoded["train"].tokens)
    result.text(
        "What was done",
        [
            f"One vector was learned for each of {len(data.attributes)} attributes, jointly with the vectors of "
            f"{len(data.vocabulary):,} words, from {train:,} running words. The attribute vector x gates the words: "
            "T_x = W_fvᵀ · diag(W_fd x) · W_fk.",
            "Perplexity is exact and on text kept out of training: how many words the model hesitates between. "
            "lbl is the same model without the gate; trigram counts words, its smoothing tuned on the dev part.",
        ],
    )


def vectors(module: LanguageModel) -> np.ndarray:
    return module.model.attributes.vectors().detach().numpy()


def show_attributes(result: Result, module: LanguageModel) -> None:
    x_AD, names = vectors(module), module.attribute_names
    if len(names) < 2:
        return
    similar = correlations(x_AD)
    result.figure("attribute_map", scatter_map(plane(x_AD), names), "Attribute vectors in the plane: near = alike.")
    if len(names) <= 60:
        result.figure("attribute_similarity", heatmap(similar, names, "correlation"), "How alike the vectors are.")
    order = np.argsort(-(similar - 2 * np.eye(len(names))), axis=1)
    rows = [[names[i], names[order[i, 0]], float(similar[i, order[i, 0]])] for i in range(min(len(names), 40))]
    result.table("Nearest attributes", ["attribute", "nearest", "correlation"], rows)


def chosen_pair(cfg: DictConfig, module: LanguageModel) -> tuple[int, int]:
    """The attributes the user named; otherwise the two least alike."""
    names = module.attribute_names
    similar = correlations(vectors(module))
    a, b = np.unravel_index(similar.argmin(), similar.shape)
    if cfg.task.a is not None:
        a = names.index(cfg.task.a)
        b = similar[a].argmin()
    if cfg.task.b is not None:
        b = names.index(cfg.task.b)
        a = a if cfg.task.a is not None else similar[b].argmin()
    return int(a), int(b)


def uses(data: Corpus, attribute: int) -> np.ndarray:
    """How often each word of the vocabulary occurs in training text with the attribute (V)."""
    train = data.encoded["train"]
    has = train.attributes == attribute
    has = has.any(1) if has.ndim == 2 else has
    tokens = train.tokens[has if train.per_token else np.repeat(has, train.lengths)]
    return np.bincount(tokens, minlength=len(data.vocabulary))


@torch.inference_mode()
def show_neighbours(
    result: Result, module: LanguageModel, word: str | None, a: int, b: int, uses_a: np.ndarray, uses_b: np.ndarray
) -> None:
    """The paper's table of conditional neighbours, for one word or for those that change most."""
    model, vocabulary, names = module.model, module.vocabularies[0], module.attribute_names
    x = model.attributes.vectors()
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


def show_samples(result: Result, module: LanguageModel, a: int, b: int, cfg: DictConfig) -> None:
    """Text in the manner of A, of B and of their average."""
    names, vocabulary = module.attribute_names, module.vocabularies[0]
    x = module.model.attributes.vectors().detach()
    samples = []
    for mix in (names[a], names[b], f"0.5*{names[a]} + 0.5*{names[b]}"):
        generator = torch.Generator().manual_seed(cfg.seed)
        ids = generate(
            module.model,
            parse(mix, names) @ x,
            [BOS_ID],
            cfg.task.words,
            generator=generator,
            temperature=cfg.task.temperature,
            forbid=(UNK_ID, BOS_ID),
        )
        samples.append((mix, " ".join(vocabulary.decode(ids[0]))))
    result.text("Samples", ["Text drawn from the model under each vector, and under their average."], samples)
