"""What decided: how much each word, and each run of characters, speaks for an author.

A unit of text speaks for author a by log P(unit | context, a) − log P(unit | context, anyone), where anyone is an
author drawn with the prior.

T units, A authors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import logsumexp

from atd.likelihood import of_words
from atd.lm import MultiplicativeLM
from atd.ngram_mixture import AttributeKneserNey
from atd.own_counts import OwnCounts
from atd.ragged import Ragged

OFTEN = 3  # texts that a habit must be found in
LONG = 3  # characters of a run
VISIBLE = str.maketrans({" ": "␣", "\n": "⏎", "\t": "⇥"})


def of_each_word(
    model: MultiplicativeLM,
    memory: OwnCounts,
    texts: Ragged,
    x_AD: torch.Tensor,
    log_prior_A: np.ndarray,
    samples: int,
) -> np.ndarray:
    """How much every word speaks for every author (T×A); an unknown word says nothing."""
    out = np.zeros((len(texts.tokens), len(x_AD)), np.float32)
    for at, log_q_BA in of_words(model, texts, x_AD, samples):
        log_p_BA = memory.over(texts.windows(memory.N, at), texts.tokens[at].astype(np.int64), log_q_BA)
        out[at] = spoken(log_p_BA, log_prior_A)
    return out


def of_each_character(model: AttributeKneserNey, texts: Ragged, log_prior_A: np.ndarray) -> np.ndarray:
    """How much every character speaks for every author (T×A)."""
    context = texts.windows(model.all.order - 1)
    return spoken(model.under_every(context, texts.tokens.astype(np.int64)), log_prior_A)


def spoken(log_p_BA: np.ndarray, log_prior_A: np.ndarray) -> np.ndarray:
    return (log_p_BA - logsumexp(log_p_BA + log_prior_A, axis=1, keepdims=True)).astype(np.float32)


@dataclass(frozen=True)
class Evidence:
    """Units of some texts, words or runs of characters, and what each says for every author."""

    name: str
    texts: Ragged
    units: list[str]  # the different ones
    which_T: np.ndarray  # the unit that stands, or ends, at every place
    said_TA: np.ndarray

    def habits(self, author_n: np.ndarray, a: int, most: int) -> list[str]:
        """The units that say most for author a in his own texts together, each found in several of them."""
        owner_T = self.texts.owner
        own = np.flatnonzero(author_n[owner_T] == a)
        which, texts = self.which_T[own], owner_T[own]
        total = np.bincount(which, self.said_TA[own, a], len(self.units))
        found = np.bincount(np.unique(np.stack([which, texts]), axis=1)[0], minlength=len(self.units))
        ranked = np.argsort(-np.where(found >= OFTEN, total, -np.inf))[:most]
        return [self.units[i] for i in ranked if found[i] >= OFTEN and total[i] > 0]


def runs(texts: Ragged, characters: list[str]) -> tuple[list[str], np.ndarray]:
    """(the different runs of LONG characters, the run that ends at every character); a blank is shown as ␣."""
    before_TN = texts.windows(LONG - 1)
    found, which_T = np.unique(np.column_stack([before_TN, texts.tokens]), axis=0, return_inverse=True)
    shown = [c.translate(VISIBLE) if len(c) == 1 else "" for c in characters]
    return ["".join(shown[i] for i in run) for run in found], which_T.reshape(-1)
