"""Mad Libs: generate to a sequence of parts of speech, and ask a tagger whether they came out (section 3, table 3).

B sequences, T tags of each, N context, D attribute dim.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import torch

from atd.errors import AtdError
from atd.expression import nearest_names
from atd.generate import generate
from atd.settings import number, optional, whole
from atd.vocabulary import BOS_ID, UNK_ID
from tasks.engine.check import LANGUAGE_MODELS, Fits
from tasks.engine.result import Result
from tasks.figures.charts import bars, learning_curves
from tasks.learning.corpora import open_corpus
from tasks.learning.evaluation import held_out, perplexity
from tasks.learning.language_model import language_model, lbl_of
from tasks.learning.training import fit

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from datamodules.gutenberg import Gutenberg
    from datamodules.tagger import Tagger

SEEN = 12  # words before a sequence that the tagger is shown; its network looks four to each side
FORBID = (UNK_ID, BOS_ID)

FITS = Fits(data=("Gutenberg",), models=("atd",), optims=LANGUAGE_MODELS)


@dataclass(frozen=True)
class Settings:
    name: str
    temperature: Annotated[float, number(0)]
    top_k: Annotated[int | None, optional(whole(1))]
    top_p: Annotated[float | None, optional(number(0, 1, open_low=True))]
    sequences: Annotated[int, whole(1)]  # held-out tag sequences to realise
    length: Annotated[int, whole(1)]  # tags of each
    shown: Annotated[int, whole(1)]  # samples per prompt
    prompts: list[dict[str, Any]]  # {start, tags}


def run(cfg: DictConfig, out: Path) -> Result:
    from datamodules.tagger import load_tagger

    data = open_corpus(cfg)
    prompts = [(p.start, data.tokens(p.start), tag_ids(p.tags, data.attributes)) for p in cfg.task.prompts]
    models, curves, rows = {}, {}, {}
    for name, config in {"atd": dict(cfg.model), "ungated": lbl_of(cfg)}.items():
        module = language_model(config, data, cfg)
        curves[name] = fit(module, data, cfg, out, name)
        rows[name] = {"perplexity": perplexity(module, held_out(data)["test"])}
        models[name] = module.model.eval()
    result = Result("madlibs", "atd/tag_accuracy", rows)
    result.figure("learning_curves", learning_curves(curves), "Exact dev perplexity after each epoch.")
    tagger = load_tagger(data.path, data.cache, data.recipe, data.tokeniser.language)
    written = spelling(data)
    measure(result, models, data, tagger, written, cfg)
    show_prompts(result, models["atd"], data, prompts, cfg)
    return result


def tag_ids(tags, names: list[str]) -> list[int]:
    for tag in tags:
        if tag not in names:
            near = nearest_names(str(tag).upper(), names) or names[:8]
            raise AtdError(f"task.prompts: {tag!r} is no tag of this corpus; did you mean {', '.join(near)}?")
    return [names.index(tag) for tag in tags]


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


def sequences(data: Gutenberg, n: int, T: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random held-out places: the SEEN words before, the tags asked for and the words that really followed."""
    test = data.encoded["test"]
    position = np.arange(len(test.tokens))
    document = np.repeat(np.arange(len(test)), test.lengths)
    fits = (position - test.offsets[document] >= SEEN) & (test.offsets[document + 1] - position >= T)
    places = np.flatnonzero(fits)
    if not len(places):
        raise AtdError(f"data={data.name}: no held-out text of {SEEN + T} words; raise data.holdout")
    at = np.sort(np.random.default_rng(seed).choice(places, min(n, len(places)), replace=False))
    before, after = at[:, None] + np.arange(-SEEN, 0), at[:, None] + np.arange(T)
    return test.tokens[before], test.attributes[after], test.tokens[after]


def measure(result: Result, models: dict, data: Gutenberg, tagger: Tagger, written: np.ndarray, cfg: DictConfig):
    """How often the tagger gives a produced word the tag that was asked for."""
    before, asked_BT, real = sequences(data, cfg.task.sequences, cfg.task.length, cfg.seed)
    names = np.array(data.attributes)
    produced = {name: realise(model, before, asked_BT, cfg) for name, model in models.items()}
    right = {}
    for name, ids_BT in {**produced, "real words": real}.items():
        texts = written[np.concatenate([before, ids_BT], axis=1)].tolist()
        got = np.array([tags[SEEN:] for tags in tagger.tag(texts)], dtype=object)
        right[name] = got == names[asked_BT]
        result.rows.setdefault(name, {})["tag_accuracy"] = float(100 * right[name].mean())
    if tagger.accuracy is not None:
        result.rows["tagger"] = {"tag_accuracy": 100 * tagger.accuracy}
    result.figure(
        "requested_tag_realised",
        bars({name: 100 * r.mean() for name, r in right.items()}, "% of words with the requested tag"),
        f"{len(asked_BT):,} sequences of {cfg.task.length} tags from held-out text, each continued from its own "
        "context. real words: what the tagger, shown the same few words, says of the true continuation.",
    )
    rows = []
    for tag in np.argsort(-np.bincount(asked_BT.ravel(), minlength=len(names)))[:25]:
        mine = asked_BT == tag
        if mine.any():
            rows.append([names[tag], int(mine.sum()), *(float(100 * right[n][mine].mean()) for n in right)])
    result.table("By tag", ["tag", "asked for", *(f"{name}, %" for name in right)], rows)


def realise(model, before: np.ndarray, asked_BT: np.ndarray, cfg: DictConfig) -> np.ndarray:
    """A continuation of every context to its tags; the ungated model hears of no tags."""
    x_TBD = None
    if hasattr(model, "attributes"):
        x_TBD = model.vectors().detach()[torch.from_numpy(asked_BT.T.astype(np.int64))]
    return generate(
        model,
        x_TBD,
        torch.from_numpy(before.astype(np.int64)),
        asked_BT.shape[1],
        generator=torch.Generator().manual_seed(cfg.seed),
        temperature=cfg.task.temperature,
        top_k=cfg.task.top_k,
        top_p=cfg.task.top_p,
        forbid=FORBID,
    ).numpy()


def show_prompts(result: Result, model, data: Gutenberg, prompts: list, cfg: DictConfig) -> None:
    """The paper's table: completions of a start to a tag sequence."""
    names = data.attributes
    for start, ids, tags in prompts:
        before = np.tile(np.array(ids or [BOS_ID]), (cfg.task.shown, 1))
        asked = np.tile(np.array(tags), (cfg.task.shown, 1))
        drawn = realise(model, before, asked, cfg)
        rows = [[" ".join(data.vocabulary.decode(row))] for row in drawn]
        result.table(f"{start} …", [" ".join(names[t] for t in tags)], rows)
