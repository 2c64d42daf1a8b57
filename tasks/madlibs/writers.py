"""Who completes a text to a sequence of tags: a trained model, and its controls, which only count.

B sequences, T tags of each, S words before them, N words of a context, D attribute dim, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from atd.generate import generate
from atd.lm import MultiplicativeLM, NextWordModel
from atd.ngram import KneserNey, write
from atd.ngram_mixture import AttributeKneserNey
from atd.vocabulary import BOS_ID, UNK_ID
from datamodules.gutenberg import Gutenberg
from tasks.learning.evaluation import examples

FORBID = (UNK_ID, BOS_ID)
ORDER = 5

Writer = Callable[[np.ndarray, np.ndarray], np.ndarray]  # (the words before B×S, the tags asked for B×T) -> words B×T
Distributions = Callable[[np.ndarray, np.ndarray], np.ndarray]  # (contexts B×N, tags B) -> p of the next word B×V

MEANING = {
    "atd": "the model, gated by the tag of each word",
    "ungated": "the log-bilinear model, which hears of no tags",
    "words-of-tag": "words drawn from P(word | tag) of the training text, whatever the context",
    "kneser-ney-attributes": "Kneser–Ney 5-grams of all text, mixed with those of the words with the tag",
    "real words": "the true continuation, whose tags were asked for",
}


def model_writer(model: NextWordModel, seed: int, drawn: Mapping[str, Any]) -> Writer:
    """A trained model; one without attributes hears of no tags. `drawn` says how, as `generate` has it."""

    def complete(before_BS: np.ndarray, asked_BT: np.ndarray) -> np.ndarray:
        x_TBD = None
        if isinstance(model, MultiplicativeLM):
            x_TBD = model.vectors().detach()[torch.from_numpy(asked_BT.T.astype(np.int64))]
        start = torch.from_numpy(before_BS.astype(np.int64))
        generator = torch.Generator().manual_seed(seed)
        return generate(model, x_TBD, start, asked_BT.shape[1], generator=generator, forbid=FORBID, **drawn).numpy()

    return complete


def counting_writers(data: Gutenberg, seed: int, temperature: float) -> dict[str, Writer]:
    """The controls by the names of their rows; they learn from what the model has learned from."""
    V, A = len(data.vocabulary), len(data.attributes)
    text = examples(data.encoded["train"], ORDER)
    words = KneserNey(V, 1).fit(*text, A)
    mixed = AttributeKneserNey(V, A, ORDER).fit(*text).tune(*examples(data.encoded["val"], ORDER))
    models: dict[str, Distributions] = {
        "words-of-tag": words.distributions,
        "kneser-ney-attributes": mixed.distributions,
    }
    return {name: counting_writer(distributions, seed, temperature) for name, distributions in models.items()}


def counting_writer(distributions: Distributions, seed: int, temperature: float) -> Writer:
    def complete(before_BS: np.ndarray, asked_BT: np.ndarray) -> np.ndarray:
        B, T = asked_BT.shape
        generator = np.random.default_rng(seed)
        text = np.concatenate([np.full((B, ORDER - 1), BOS_ID), before_BS], axis=1).astype(np.int64)
        for t in range(T):

            def next_words(context_BN: np.ndarray, rows: np.ndarray, t: int = t) -> np.ndarray:
                return distributions(context_BN, asked_BT[rows, t])

            word = write(next_words, text[:, 1 - ORDER :], 1, generator, temperature, FORBID)
            text = np.concatenate([text, word], axis=1)
        return text[:, -T:]

    return complete
