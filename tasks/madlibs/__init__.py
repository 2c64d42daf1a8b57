"""Mad Libs: generate to a sequence of parts of speech, and ask a tagger whether they came out (section 3, table 3)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from atd.detokenise import detokenised
from atd.errors import AtdError
from atd.settings import number, optional, read, whole
from atd.vocabulary import BOS_ID
from datamodules.gutenberg import Gutenberg
from tasks.engine.check import LANGUAGE_MODELS, Fits
from tasks.engine.result import Result
from tasks.engine.settings import typed
from tasks.figures.charts import learning_curves
from tasks.learning.comparison import compare_models
from tasks.learning.controls import lbl_of
from tasks.learning.corpora import open_corpus
from tasks.madlibs.measure import measure
from tasks.madlibs.prompts import Prompt, known_prompts, paper_prompts
from tasks.madlibs.writers import Writer, counting_writers, model_writer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omegaconf import DictConfig

FITS = Fits(data=("Gutenberg",), models=("atd", "paper"), optims=LANGUAGE_MODELS)


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
    judge = data.judge()
    models = compare_models(cfg, data, out, {"atd": cfg.model, "ungated": lbl_of(cfg)})
    rows = {name: {"perplexity": row["perplexity"]} for name, row in models.rows.items()}
    result = Result("madlibs", "atd/tag_accuracy", rows)
    result.figure("learning_curves", learning_curves(models.curves), "Exact dev perplexity after each epoch.")
    drawn = {"temperature": task.temperature, "top_k": task.top_k, "top_p": task.top_p}
    writers = {name: model_writer(models.trained(name).model, cfg.seed, drawn) for name in rows}
    writers |= counting_writers(data, cfg.seed, task.temperature)
    measure(result, writers, data, judge, task.sequences, task.length, cfg.seed)
    show_prompts(result, writers["atd"], data, prompts, task.shown)
    return result


def show_prompts(result: Result, write: Writer, data: Gutenberg, prompts: Sequence[Prompt], shown: int) -> None:
    """The paper's table: completions of a start to a tag sequence."""
    for prompt in prompts:
        tags = [data.attributes.index(tag) for tag in prompt.tags]
        before = np.tile(np.array(data.tokens(prompt.start) or [BOS_ID]), (shown, 1))
        drawn = write(before, np.tile(np.array(tags), (shown, 1)))
        rows = [[detokenised(" ".join(data.vocabulary.decode(row)))] for row in drawn]
        result.table(f"{prompt.start} …", [" ".join(prompt.tags)], rows)
