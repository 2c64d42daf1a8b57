"""The writer: a trained model that writes under the vector of a book, of a mix of books, of any text.

B samples, A books, D attribute dim, S = CONTEXT + words of a measured sample.
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
from tasks.generation.judge import CONTEXT

if TYPE_CHECKING:
    from atd.lm import MultiplicativeLM
    from datamodules.corpus import Corpus
    from tasks.generation.settings import Settings

BURN_IN = 10  # words drawn before a measured sample, so that it does not begin like a first page
BATCH = 512  # samples drawn at once, to bound memory
FORBID = (UNK_ID, BOS_ID)


class Writer:
    """`x_AD` are the vectors of some books, `names` the names of these."""

    def __init__(self, model: MultiplicativeLM, x_AD: Tensor, names: Sequence[str], task: Settings, seed: int):
        self.model = model
        self.x_AD = x_AD
        self.names = names
        self.task = task
        self.seed = seed

    def sample(self, x_BD: Tensor, temperature: float | None = None, series: int = 0) -> np.ndarray:
        """Samples to measure, drawn from nothing but the vector and judged by temperature alone: ids B×S.

        CONTEXT words stand before those to judge. Every series has random numbers of its own.
        """
        temperature = self.task.temperature if temperature is None else temperature
        parts = []
        for i, x in enumerate(x_BD.split(BATCH)):
            generator = torch.Generator().manual_seed(self.seed + 1000 * series + i)
            words = BURN_IN + self.task.words
            text = generate(self.model, x, [BOS_ID], words, generator=generator, temperature=temperature, forbid=FORBID)
            parts.append(text[:, BURN_IN - CONTEXT :].numpy())
        return np.concatenate(parts)

    def sample_books(self, book_B: np.ndarray, temperature: float) -> np.ndarray:
        """Samples of books."""
        return self.sample(self.x_AD[torch.from_numpy(book_B)], temperature)


def shown_pair(names: Sequence[str]) -> tuple[int, int]:
    """The paper's Bible and Caesar where they are, otherwise the first and the last."""
    find = {name: i for i, name in enumerate(names)}
    return find.get("bible-kjv", 0), find.get("shakespeare-caesar", len(names) - 1)


def show_samples(result: Result, writer: Writer, data: Corpus, inference: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(label, text) under every book's vector and the paper's mix, or under what the user asked for."""
    task, names = writer.task, writer.names
    a, b = shown_pair(names)
    x_AD = writer.model.vectors().detach()
    if task.mix:
        labels, vectors = list(task.mix), [parse(mix, data.attributes) @ x_AD for mix in task.mix]
    else:
        labels = [*names, f"0.5*{names[a]} + 0.5*{names[b]}"]
        vectors = [x_AD[data.attributes.index(name)] for name in names]
        vectors.append((vectors[a] + vectors[b]) / 2)
    if task.like is not None:
        labels.append(f"like {task.like}")
        vectors.append(vector_of_file(writer.model, data, Path(task.like), inference))
    ids = generate(
        writer.model,
        torch.stack(vectors),
        data.tokens(task.start) or [BOS_ID],
        task.words,
        generator=torch.Generator().manual_seed(writer.seed),
        temperature=task.temperature,
        top_k=task.top_k,
        top_p=task.top_p,
        forbid=FORBID,
    )
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
