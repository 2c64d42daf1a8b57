"""What the page asks of a model, as plain values: describe, find, generate, neighbours, differences, place a text.

A attributes, D attribute dim.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from atd.errors import AtdError
from atd.generate import generate
from atd.lm import MultiplicativeLM
from atd.neighbours import compare, unit
from atd.tokeniser import Tokeniser
from atd.vocabulary import BOS_ID, SPECIALS, UNK_ID
from tasks.explore.asked import UnknownWord, listed, number, profile, text
from tasks.explore.differences import Differences
from tasks.explore.profiles import Profiles
from tasks.explore.reading import Reader
from tasks.explore.views import views
from tasks.figures.maps import groups_of
from tasks.learning.models import Trained


class Queries:
    """One model and everything precomputed for it. Queries only read, so threads may share it."""

    def __init__(self, trained: Trained, name: str, folder: Path | None = None):
        self.name = name
        self.trained = trained = replace(trained, tokeniser=trained.tokeniser or Tokeniser())
        assert isinstance(trained.model, MultiplicativeLM) and trained.tokeniser is not None
        self.words = trained.tokeniser.words
        self.words("Built on first use.")
        self.model = trained.model
        self.vocabulary = trained.vocabulary
        self.profiles = Profiles(trained)
        self.names = self.profiles.names
        with torch.no_grad():
            self.x_AD = self.model.vectors().clone()
        self.views = views(trained.design, self.x_AD)
        self.reader = Reader(trained, folder)
        self.differences = Differences(trained, folder)

    def describe(self) -> dict[str, Any]:
        groups = groups_of(self.names, "^[^-/]+")
        rows = zip(self.names, groups, self.profiles.values_AQ.tolist(), self.profiles.words_A, strict=True)
        common = [w for w in self.vocabulary.words[len(SPECIALS) : 400] if len(w) > 3 and w.isalpha()]
        return {
            "name": self.name,
            "words": len(self.vocabulary),
            "examples": common[::12],
            "columns": [
                {"name": c.name, "values": list(c.values), "number": c.knots is not None}
                for c in self.trained.design.columns
            ],
            "attributes": [{"name": n, "group": g, "values": v, "words": float(w)} for n, g, v, w in rows],
            "views": [
                {"name": view.name, "ids": view.ids.tolist(), "points": view.points.round(5).tolist()}
                for view in self.views
            ],
            "effects": self.differences.describe(),
        }

    def find(self, query: dict) -> dict[str, Any]:
        return self.profiles.find(query)

    def vector(self, mix: list[dict], base: dict[str, str]) -> torch.Tensor:
        """Σ weight · x over names, profiles and given vectors. A lone value takes the rest from the base profile."""
        x = torch.zeros(self.x_AD.shape[1])
        for part in mix:
            weight = number(part.get("weight"), "weight", -10, 10)
            x += weight * self.part(part, base)
        return x

    def part(self, part: dict, base: dict[str, str]) -> torch.Tensor:
        if "vector" in part:
            return self.given(part["vector"])
        if "profile" in part:  # whole as it stands
            return self.profiles.of(profile(part["profile"]))
        if part.get("base") is True:
            return self.profiles.of(base)
        return self.profiles.x(text(part.get("name"), "name", 500), base)

    def given(self, values: Any) -> torch.Tensor:
        if not isinstance(values, list) or len(values) != self.x_AD.shape[1]:
            raise AtdError(f"a vector of this model has {self.x_AD.shape[1]} numbers")
        return torch.tensor([number(v, "vector", -1e4, 1e4) for v in values])

    def generate(self, query: dict) -> dict[str, Any]:
        """Samples under a mix; the same query gives the same text."""
        x = self.vector(listed(query.get("mix"), "mix", 50), base_of(query))
        start, unknown = self.ids(text(query.get("start", ""), "start", 2000))
        top_k, top_p = query.get("top_k"), query.get("top_p")
        samples = int(number(query.get("samples", 3), "samples", 1, 8))
        ids = generate(
            self.model,
            x.expand(samples, -1),
            start or [BOS_ID],
            int(number(query.get("words", 60), "words", 1, 200)),
            generator=torch.Generator().manual_seed(int(number(query.get("seed", 0), "seed", 0, 2**31))),
            temperature=number(query.get("temperature", 0.8), "temperature", 0, 5),
            top_k=None if top_k is None else int(number(top_k, "top_k", 1, len(self.vocabulary))),
            top_p=None if top_p is None else number(top_p, "top_p", 0.01, 1),
            forbid=(UNK_ID, BOS_ID),
        )
        return {
            "samples": [self.vocabulary.decode(row) for row in ids],
            "unknown": unknown[:20],
            "places": self.places(x),
            "nearest": self.nearest(x, 3),
        }

    def neighbours(self, query: dict) -> dict[str, Any]:
        """A word's (or phrase's) neighbours under A and B, with the rank of each under the other."""
        words = self.words(text(query.get("word"), "word", 200))
        if not words:
            raise AtdError("type a word")
        for word in words:
            if word not in self.vocabulary:
                raise UnknownWord(word, self.vocabulary.nearest_spelling(word, 5))
        x_a, x_b = self.pair(query)
        k = int(number(query.get("k", 15), "k", 1, 100))
        least = int(number(query.get("least", 0), "least", 0, 1e9))
        used_a, used_b = (self.used(query.get(side)) for side in ("a", "b"))
        rare = np.flatnonzero((used_a < least) & (used_b < least)).tolist()
        with torch.inference_mode():
            ids = self.vocabulary.encode(words).tolist()
            near = compare(self.model, ids, x_a, x_b, k, [*range(len(SPECIALS)), *rare])
        columns = {
            "a": (near.near_a, near.cosine_a, near.rank_in_b, used_a),
            "b": (near.near_b, near.cosine_b, near.rank_in_a, used_b),
        }
        return {
            "word": " ".join(words),
            "common": self.vocabulary.decode(near.common),
            **{side: self.ranked(*lists) for side, lists in columns.items()},
        }

    def pair(self, query: dict) -> tuple[torch.Tensor, torch.Tensor]:
        """The vectors of A and B; without a name, that of the base profile."""
        x_a, x_b = (self.profiles.x(query.get(side) or None, base_of(query)) for side in ("a", "b"))
        return x_a, x_b

    def used(self, name: str | None) -> np.ndarray:
        """How often texts of a value use each word (V); all texts where the model does not know, or of no value."""
        return self.trained.counts(name if name and self.trained.usage is not None else None)

    def ranked(self, ids: list[int], cosines: list[float], other: list[int], used_V: np.ndarray) -> list[dict]:
        return [
            {"word": self.vocabulary.words[w], "cosine": c, "other_rank": r, "times": round(float(used_V[w]))}
            for w, c, r in zip(ids, cosines, other, strict=True)
        ]

    def differ(self, query: dict) -> dict[str, Any]:
        """The words that differ most: of an entry of effects.json, or between A and B by the model alone."""
        if query.get("entry") is not None:
            return self.differences.measured(query["entry"])
        return self.differences.shifted(*self.pair(query))

    def read(self, query: dict) -> dict[str, Any]:
        """The vector of a text: its place on the maps, the nearest attributes, the likeliest values, and warnings."""
        ids, unknown = self.ids(text(query.get("text"), "text", 20_000))
        x, said = self.reader.read(ids)
        return {
            **said,
            "unknown": unknown[:20],
            "vector": x.tolist(),
            "places": self.places(x),
            "nearest": self.nearest(x, 10),
        }

    def nearest(self, x_D: torch.Tensor, most: int) -> list[list]:
        """[name, cosine] of the attributes whose vectors are most alike; all have 0 to the average text."""
        cosine_A = unit(self.x_AD) @ unit(self.settled(x_D))
        best = cosine_A.topk(min(most, len(self.names)))
        return [[self.names[i], float(c)] for c, i in zip(*best, strict=True)]

    def places(self, x_D: torch.Tensor) -> list[list[float]]:
        """Where a vector lies on every map."""
        return [view.place(self.settled(x_D)) for view in self.views]

    def settled(self, x_D: torch.Tensor) -> torch.Tensor:
        """A vector as it is; one of no length but for rounding is 0, for its direction means nothing."""
        return x_D if x_D.norm() > 1e-4 * self.x_AD.norm(dim=1).mean() else torch.zeros_like(x_D)

    def ids(self, written: str) -> tuple[list[int], list[str]]:
        """Ids of a text's words, and its unknown words, each once."""
        words = self.words(written)
        unknown = dict.fromkeys(w for w in words if w not in self.vocabulary)
        return self.vocabulary.encode(words).tolist(), list(unknown)


def base_of(query: dict) -> dict[str, str]:
    return profile(query.get("base", {}), "base")
