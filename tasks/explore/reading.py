"""A pasted text: its vector, the likeliest value of every column, and whether the model is the right one to ask.

D attribute dim, T words of a text, V values of a column.
"""

from __future__ import annotations

import json
import math
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from atd.errors import AtdError
from atd.generate import generate
from atd.inference import infer
from atd.likelihood import log_likelihoods
from atd.lm import MultiplicativeLM
from atd.neighbours import unit
from atd.ragged import Ragged, offsets_of
from atd.trained import Trained
from atd.vocabulary import BOS_ID, UNK_ID
from tasks.explore.profiles import values_of

READ = 300  # words of a pasted text that are read
LEAST = 5  # known words, below which there is nothing to say
SHORT = 30  # known words, below which the answer is mostly chance
STRANGE = 3.0  # times the perplexity of the corpus; of held-out blog posts 5 % had more, of stripped speeches all
UNKNOWN = 0.15  # share of unknown words beyond that of the corpus; 4 % of the posts had more, other languages all
SOFTMAX = 1000  # words the softmax runs over while a text is placed: the frequent ones and a sample of the rest
STEPS = 20  # of inference; with the above 0.1 s, and a cosine of 0.95–0.97 to the exact vector of 300 words
WEIGHED = 200  # values of a column that are weighed; of more, those whose vectors are nearest to the text's
DRAWN = 24  # texts the model writes to know its own perplexity, where no run has measured it
DRAWN_WORDS = 60


class Reader:
    """Reads texts with one model. `folder` is its run, which may say what perplexity its corpus has."""

    def __init__(self, trained: Trained, folder: Path | None = None):
        assert isinstance(trained.model, MultiplicativeLM)
        self.trained = trained
        self.model = trained.model
        self.folder = folder
        self.unit_AD = unit(self.model.vectors().detach())
        self.kept: dict[tuple[str, str], torch.Tensor] = {}

    def read(self, ids: list[int]) -> tuple[torch.Tensor, dict[str, Any]]:
        """The vector of a text (D), and what is to be said about the text."""
        known = sum(i != UNK_ID for i in ids)
        if known < LEAST:
            raise AtdError(f"only {known} known words in the text; paste a sentence or more")
        pasted = as_ragged(ids[:READ])
        x_D = infer(self.model, *pasted.flat, samples=SOFTMAX, tolerance=0.1, iterations=STEPS).x[0]
        perplexity = self.perplexity(pasted)
        said = {
            "read": len(pasted.tokens),
            "words": len(ids),
            "unknown_count": len(ids) - known,
            "perplexity": perplexity,
            "reference": self.reference[0],
            "reference_of": self.reference[1],
            "warnings": self.warnings(ids, perplexity),
            "columns": [self.likeliest(pasted, column, x_D) for column in self.trained.columns],
        }
        return x_D, said

    def warnings(self, ids: list[int], perplexity: float) -> list[str]:
        """Why not to trust the answer."""
        known = sum(i != UNK_ID for i in ids)
        share, usual = 1 - known / len(ids), self.usually_unknown
        expected, of = self.reference
        out = []
        if known < SHORT:
            out.append(f"Only {known} known words: mostly chance. {SHORT} or more say something, 300 are better.")
        if share > usual + UNKNOWN:
            out.append(
                f"The model does not know {share:.0%} of these words; of its own corpus it does not know {usual:.0%}. "
                "It may be another language, spelling or subject."
            )
        if perplexity > STRANGE * expected:
            out.append(
                f"Unlike the corpus: perplexity {perplexity:,.0f} over the known words, {expected:,.0f} for {of}. "
                "The model still answers, by what it has; expect little of it."
            )
        return out

    @property
    def usually_unknown(self) -> float:
        counts = self.trained.vocabulary.counts
        return float(counts[UNK_ID] / max(counts.sum(), 1))

    @torch.inference_mode()
    def perplexity(self, texts: Ragged) -> float:
        """Of the known words, for the average text: exact, over all words."""
        at = np.flatnonzero(texts.tokens != UNK_ID)
        context_TN = torch.from_numpy(texts.windows(len(self.model.C), at))
        target_T = torch.from_numpy(texts.tokens[at].astype(np.int64))
        x_TD = self.trained.x(None).expand(len(at), -1)
        return math.exp(min(float(self.model.nll(context_TN, target_T, x_TD)), 50.0))

    @cached_property
    def reference(self) -> tuple[float, str]:
        """(a perplexity to compare with, of what): held-out text as the run measured it, or text the model writes."""
        measured = held_out(self.folder)
        if measured is not None:
            return measured, "held-out text of the corpus"
        return self.perplexity(self.written()), "text that the model itself writes"

    @torch.inference_mode()
    def written(self) -> Ragged:
        """Texts under attributes drawn as often as they have training text."""
        words_A = self.trained.design.words_A
        own_A = np.flatnonzero(self.trained.design.term_A == 0)
        share = words_A[own_A] if len(words_A) and words_A[own_A].sum() > 0 else np.ones(len(own_A))
        drawn = np.random.default_rng(0).choice(own_A, DRAWN, p=share / share.sum())
        rows = generate(
            self.model,
            self.model.vectors()[torch.from_numpy(drawn)],
            [BOS_ID],
            DRAWN_WORDS,
            generator=torch.Generator().manual_seed(0),
            temperature=1.0,
            forbid=(UNK_ID, BOS_ID),
        )
        return Ragged(np.concatenate([np.asarray(row) for row in rows]), offsets_of([len(row) for row in rows]))

    def likeliest(self, pasted: Ragged, column: str, x_D: torch.Tensor) -> dict[str, Any]:
        """The values of a column with their probabilities, as `Trained.probabilities` has them, best first."""
        values = self.trained.columns[column]
        weighed = self.weighed(column, x_D)
        x_VD = torch.stack([self.vector(column, values[i]) for i in weighed])
        log_p = log_likelihoods(self.model, pasted, x_VD)[0] + np.log(self.trained.prior(column)[weighed])
        p = np.exp(log_p - log_p.max())
        p /= p.sum()
        ranked = [[values[weighed[i]], float(p[i])] for i in np.argsort(-p, kind="stable")[:10]]
        return {"name": column, "values": ranked, "weighed": len(weighed), "of": len(values)}

    def weighed(self, column: str, x_D: torch.Tensor) -> np.ndarray:
        """The values of a column to choose among: all, or those of the attributes nearest to a vector."""
        columns = list(self.trained.columns)
        if len(self.trained.columns[column]) <= WEIGHED:
            return np.arange(len(self.trained.columns[column]))
        nearest_A = (self.unit_AD @ unit(x_D)).argsort(descending=True).numpy()
        own_A = values_of(self.trained.design)[nearest_A, columns.index(column)]
        _, first = np.unique(own_A, return_index=True)
        found = own_A[np.sort(first)]
        return found[found >= 0][:WEIGHED]

    def vector(self, column: str, value: str) -> torch.Tensor:
        """The vector of a value, other columns at their average; kept, as each takes a while among thousands."""
        if (column, value) not in self.kept:
            self.kept[column, value] = self.trained.x({column: value})
        return self.kept[column, value]


def as_ragged(ids: list[int]) -> Ragged:
    return Ragged(np.array(ids, dtype=np.int64), offsets_of([len(ids)]))


def held_out(folder: Path | None) -> float | None:
    """The perplexity that the run measured on text it did not learn from, if it left one."""
    try:
        rows = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["rows"] if folder else {}
        found = rows.get("atd", {}).get("perplexity")
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None
    good = isinstance(found, int | float) and not isinstance(found, bool) and 1 <= found < 1e9
    return float(found) if good else None
