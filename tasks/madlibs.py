"""Mad Libs: generate to a sequence of parts of speech, and ask a tagger whether they came out (section 3, table 3).

B sequences, T tags of each, D attribute dim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import torch

from atd.errors import AtdError
from atd.expression import nearest_names
from atd.generate import generate
from atd.lm import MultiplicativeLM, NextWordModel
from atd.settings import number, optional, read, whole
from atd.vocabulary import BOS_ID, SPECIALS, UNK_ID
from datamodules.gutenberg import Gutenberg
from tasks.engine.check import LANGUAGE_MODELS, Fits
from tasks.engine.result import Result
from tasks.engine.settings import typed
from tasks.figures.charts import bars, learning_curves
from tasks.learning.comparison import compare_models, lbl_of
from tasks.learning.corpora import open_corpus

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from datamodules.tagger import Tagger

SEEN = 12  # words before a sequence that the tagger is shown; its network looks four to each side
START = 4  # words that a prompt made from held-out text begins with
FORBID = (UNK_ID, BOS_ID)

FITS = Fits(data=("Gutenberg",), models=("atd",), optims=LANGUAGE_MODELS)


@dataclass(frozen=True)
class Prompt:
    """A start, and the tags of the words that are to follow."""

    start: str
    tags: list[str]


PAPER = (
    Prompt("the meaning of life is", ["DT", "NN", "IN", "DT", "JJ"]),
    Prompt("my greatest accomplishment is", ["TO", "VB", "VBD", "JJS", "NNS"]),
    Prompt("i could not live without", ["PRP", "NN", ",", "JJ", "NN"]),
)


@dataclass(frozen=True)
class Settings:
    name: str
    temperature: Annotated[float, number(0)]
    top_k: Annotated[int | None, optional(whole(1))]
    top_p: Annotated[float | None, optional(number(0, 1, open_low=True))]
    sequences: Annotated[int, whole(1)]  # held-out tag sequences to realise
    length: Annotated[int, whole(1)]  # tags of each
    shown: Annotated[int, whole(1)]  # samples per prompt
    prompts: list[dict[str, Any]] | None  # each a Prompt; None = the paper's, as far as the corpus has their tags


def run(cfg: DictConfig, out: Path) -> Result:
    task = typed(Settings, cfg.task)
    asked = None if task.prompts is None else [read(Prompt, prompt, "task.prompts") for prompt in task.prompts]
    data = open_corpus(cfg)
    assert isinstance(data, Gutenberg)
    if data.attribute != "pos":
        raise AtdError(f"data.attribute={data.attribute}: task=madlibs needs parts of speech; use data.attribute=pos")
    prompts = paper_prompts(data, task.length) if asked is None else known_prompts(asked, data.attributes)
    models = compare_models(cfg, data, out, {"atd": cfg.model, "ungated": lbl_of(cfg)})
    rows = {name: {"perplexity": row["perplexity"]} for name, row in models.rows.items()}
    result = Result("madlibs", "atd/tag_accuracy", rows)
    result.figure("learning_curves", learning_curves(models.curves), "Exact dev perplexity after each epoch.")
    trained = {name: models.trained(name).model for name in rows}
    measure(result, trained, data, data.tagger(), task, cfg.seed)
    show_prompts(result, trained["atd"], data, prompts, task, cfg.seed)
    return result


def known_prompts(asked: Sequence[Prompt], tags: Sequence[str]) -> Sequence[Prompt]:
    """The user's own prompts; a tag that the corpus lacks is an error."""
    for prompt in asked:
        if not prompt.tags:
            raise AtdError(f"task.prompts: {prompt.start!r} has no tags; give some of {', '.join(tags)}")
        for tag in lacking(prompt, tags):
            near = nearest_names(tag.upper(), tags) or tags[:8]
            raise AtdError(f"task.prompts: {tag!r} is no tag of this corpus; did you mean {', '.join(near)}?")
    return asked


def paper_prompts(data: Gutenberg, T: int) -> Sequence[Prompt]:
    """Those of the paper's prompts whose tags the corpus has; if there is none, frequent sequences of T tags."""
    kept = []
    for prompt in PAPER:
        if missing := lacking(prompt, data.attributes):
            print(f"prompt left out: {prompt.start!r}; this corpus has no word tagged {' or '.join(missing)}")
        else:
            kept.append(prompt)
    return kept or frequent_prompts(data, T)


def lacking(prompt: Prompt, tags: Sequence[str]) -> list[str]:
    """The tags of the prompt that are not among these."""
    return [tag for tag in dict.fromkeys(prompt.tags) if tag not in tags]


def frequent_prompts(data: Gutenberg, T: int, n: int = len(PAPER)) -> list[Prompt]:
    """The n most frequent sequences of T tags in held-out text, each after the words before its first occurrence."""
    test = data.encoded["test"]
    at = places(data, T)
    before = test.tokens[at[:, None] + np.arange(-START, 0)]
    readable = (before >= len(SPECIALS)).all(1)
    at, before = at[readable], before[readable]
    found, first, count = np.unique(
        test.attributes[at[:, None] + np.arange(T)], axis=0, return_index=True, return_counts=True
    )
    return [
        Prompt(" ".join(data.vocabulary.decode(before[first[i]])), [data.attributes[tag] for tag in found[i]])
        for i in np.argsort(-count, kind="stable")[:n]
    ]


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


def places(data: Gutenberg, T: int) -> np.ndarray:
    """Where in held-out text T words begin that have SEEN words of the same document before them."""
    test = data.encoded["test"]
    position = np.arange(len(test.tokens))
    begin, end = test.offsets[test.owner], test.offsets[test.owner + 1]
    found = np.flatnonzero((position - begin >= SEEN) & (end - position >= T))
    if not len(found):
        raise AtdError(f"data={data.name}: no held-out text of {SEEN + T} words; raise data.holdout")
    return found


def sequences(data: Gutenberg, n: int, T: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random held-out places: the SEEN words before, the tags asked for and the words that really followed."""
    test = data.encoded["test"]
    found = places(data, T)
    at = np.sort(np.random.default_rng(seed).choice(found, min(n, len(found)), replace=False))
    before, after = at[:, None] + np.arange(-SEEN, 0), at[:, None] + np.arange(T)
    return test.tokens[before], test.attributes[after], test.tokens[after]


def measure(
    result: Result, models: Mapping[str, NextWordModel], data: Gutenberg, tagger: Tagger, task: Settings, seed: int
) -> None:
    """How often the tagger gives a produced word the tag that was asked for."""
    before, asked_BT, real = sequences(data, task.sequences, task.length, seed)
    names = np.array(data.attributes)
    written = spelling(data)
    produced = {name: realise(model, before, asked_BT, task, seed) for name, model in models.items()}
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
        f"{len(asked_BT):,} sequences of {task.length} tags from held-out text, each continued from its own "
        "context. real words: what the tagger, shown the same few words, says of the true continuation.",
    )
    rows = []
    for tag in np.argsort(-np.bincount(asked_BT.ravel(), minlength=len(names)))[:25]:
        mine = asked_BT == tag
        if mine.any():
            rows.append([names[tag], int(mine.sum()), *(float(100 * right[n][mine].mean()) for n in right)])
    result.table("By tag", ["tag", "asked for", *(f"{name}, %" for name in right)], rows)


def realise(model: NextWordModel, before: np.ndarray, asked_BT: np.ndarray, task: Settings, seed: int) -> np.ndarray:
    """A continuation of every context to its tags; the ungated model hears of no tags."""
    x_TBD = None
    if isinstance(model, MultiplicativeLM):
        x_TBD = model.vectors().detach()[torch.from_numpy(asked_BT.T.astype(np.int64))]
    return generate(
        model,
        x_TBD,
        torch.from_numpy(before.astype(np.int64)),
        asked_BT.shape[1],
        generator=torch.Generator().manual_seed(seed),
        temperature=task.temperature,
        top_k=task.top_k,
        top_p=task.top_p,
        forbid=FORBID,
    ).numpy()


def show_prompts(
    result: Result, model: NextWordModel, data: Gutenberg, prompts: Sequence[Prompt], task: Settings, seed: int
) -> None:
    """The paper's table: completions of a start to a tag sequence."""
    for prompt in prompts:
        tags = [data.attributes.index(tag) for tag in prompt.tags]
        before = np.tile(np.array(data.tokens(prompt.start) or [BOS_ID]), (task.shown, 1))
        asked = np.tile(np.array(tags), (task.shown, 1))
        drawn = realise(model, before, asked, task, seed)
        rows = [[" ".join(data.vocabulary.decode(row))] for row in drawn]
        result.table(f"{prompt.start} …", [" ".join(prompt.tags)], rows)
