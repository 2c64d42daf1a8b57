"""The writer: a trained model that writes under the vector of a book, of a mix of books, of any text.

B samples, A books, D attribute dim, T words of a sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from atd.errors import AtdError
from atd.expression import parse
from atd.generate import generate
from atd.inference import infer
from atd.vocabulary import BOS_ID, UNK_ID
from tasks.engine.result import Result

if TYPE_CHECKING:
    from atd.lm import MultiplicativeLM
    from datamodules.corpus import Corpus
    from tasks.generation.settings import Settings

BURN_IN = 10  # words drawn and dropped before a measured sample, so that it does not begin like a first page
BATCH = 512  # samples drawn at once, to bound memory


class Writer:
    """`x_AD` are the vectors of the books, `names` the names of these; words are drawn as the task's settings say."""

    def __init__(self, model: MultiplicativeLM, names: Sequence[str], task: Settings, seed: int):
        self.model = model
        self.names = names
        self.x_AD = model.vectors().detach()
        self.task = task
        self.seed = seed

    def write(self, x_BD: Tensor, start: Sequence[int], words: int, seed: int) -> Tensor:
        """So many words after the start, under each vector: ids B×T."""
        return generate(
            self.model,
            x_BD,
            start,
            words,
            generator=torch.Generator().manual_seed(seed),
            temperature=self.task.temperature,
            top_k=self.task.top_k,
            top_p=self.task.top_p,
            forbid=(UNK_ID, BOS_ID),
        )

    def sample(self, x_BD: Tensor, seed: int) -> np.ndarray:
        """Samples to measure: ids B×T, from nothing but the vector."""
        return self.write(x_BD, [BOS_ID], BURN_IN + self.task.words, seed)[:, BURN_IN:].numpy()

    def sample_many(self, x_BD: Tensor, series: int = 0) -> np.ndarray:
        """`sample` in batches; every series has random numbers of its own."""
        seed = self.seed + 1000 * series
        return np.concatenate([self.sample(x, seed + i) for i, x in enumerate(x_BD.split(BATCH))])


def shown_pair(names: Sequence[str]) -> tuple[int, int]:
    """The paper's Bible and Caesar where they are, otherwise the first and the last."""
    find = {name: i for i, name in enumerate(names)}
    return find.get("bible-kjv", 0), find.get("shakespeare-caesar", len(names) - 1)


def show_samples(result: Result, writer: Writer, data: Corpus, inference: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(label, text) under every book's vector and the paper's mix, or under what the user asked for."""
    task, names = writer.task, writer.names
    a, b = shown_pair(names)
    mixes = task.mix or [*names, f"0.5*{names[a]} + 0.5*{names[b]}"]
    labels = list(mixes)
    vectors = [parse(mix, names) @ writer.x_AD for mix in mixes]
    if task.like is not None:
        labels.append(f"like {task.like}")
        vectors.append(vector_of_file(writer.model, data, Path(task.like), inference))
    ids = writer.write(torch.stack(vectors), data.tokens(task.start) or [BOS_ID], task.words, writer.seed)
    texts = [" ".join([task.start, *data.vocabulary.decode(row)]).strip() for row in ids]
    samples = list(zip(labels, texts, strict=True))
    result.text("Samples", ["<#> stands for a number."], samples)
    return samples


def vector_of_file(model: MultiplicativeLM, data: Corpus, path: Path, inference: Mapping[str, Any]) -> Tensor:
    """The inferred vector of a text file."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise AtdError(f"task.like={path}: not readable ({error.strerror}); give a text file") from None
    tokens = torch.as_tensor(data.tokens(text))
    return infer(model, tokens, torch.tensor([0, len(tokens)]), **inference).x[0]
