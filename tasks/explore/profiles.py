"""What a user names on the page, as a vector: an attribute, a value, a profile, a weighted sum; and the search for it.

A lone value stands for the base profile with that value in it. A attributes, D attribute dim, Q columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from atd.errors import AtdError
from atd.given import DASHES, named, shares
from atd.trained import Trained
from tasks.explore.asked import NAME, profile, text

WORDS = 8  # that a search offers


class Profiles:
    """The names of a model and what they stand for."""

    def __init__(self, trained: Trained):
        self.trained = trained
        self.design = design = trained.design
        self.names = design.names
        self.values_AQ = values_of(design)
        columns = design.columns
        self.own = {
            name: {columns[q].name: columns[q].values[i] for q, i in enumerate(row) if i >= 0}
            for name, row in zip(self.names, self.values_AQ, strict=True)
        }
        self.words_A = design.words_A if len(design.words_A) else np.zeros(len(self.names))
        self.plain = [plain(name) for name in self.names]
        self.spelt = [" ".join(plain(f"{c}:{v}") for c, v in own.items()) for own in self.own.values()]

    def x(self, given: Any, base: dict[str, str]) -> torch.Tensor:
        """The vector of a name, a sum of names, a mapping of columns to values, or of nothing: the base (D)."""
        if given is None:
            return self.of(base)
        if isinstance(given, dict):
            return self.of(base | profile(given))
        name = text(given, "name", NAME)
        weights, parts = ([1.0], [self.own[name]]) if name in self.own else named(name, self.design)
        vectors = [float(w) * self.of({**base, **part}) for w, part in zip(weights, parts, strict=True)]
        return torch.stack(vectors).sum(0)

    def of(self, values: dict[str, Any]) -> torch.Tensor:
        if values and not shares(values, self.design).any():
            wanted = " and ".join(f"{column}={value}" for column, value in values.items())
            raise AtdError(f"no training text has {wanted}, and this model has no vector for what it never saw")
        return self.trained.x(values or None)

    def find(self, query: dict) -> dict[str, Any]:
        """Attributes and words that a typed text names, best first. `matches` are all that fit, as numbers."""
        written = text(query.get("text"), "text", NAME).strip()
        if not written:
            return {"matches": [], "words": [], "mix": [], "note": ""}
        matches = self.matching(plain(written))
        mix, note = ([], "") if matches else self.resolved(written)
        if len(mix) == 1 and not matches:
            matches = self.having(mix[0]["profile"])
        return {"matches": matches, "words": self.words(written), "mix": mix, "note": note}

    def matching(self, wanted: str) -> list[int]:
        """Attributes whose name holds a text, those that it spells whole first, then those with most training text."""
        found = []
        for a, (name, spelt) in enumerate(zip(self.plain, self.spelt, strict=True)):
            if wanted in name or (":" in wanted and wanted in spelt):
                exact = wanted == name or wanted in spelt.split(" ")
                found.append((not exact, not name.startswith(wanted), -self.words_A[a], a))
        return [a for *_, a in sorted(found)]

    def resolved(self, written: str) -> tuple[list[dict], str]:
        """A sum of names, or a number between knots, as the mix it stands for; or why it stands for nothing."""
        try:
            weights, parts = named(written, self.design)
        except AtdError as error:
            return [], str(error)
        profiles = [{column: f"{v:g}" if isinstance(v, float) else v for column, v in p.items()} for p in parts]
        return [{"profile": p, "weight": float(w)} for w, p in zip(weights, profiles, strict=True)], ""

    def having(self, values: dict[str, Any]) -> list[int]:
        """Attributes that have all these values."""
        wanted = {column: str(value) for column, value in values.items()}
        return [a for a, own in enumerate(self.own.values()) if wanted.items() <= own.items()]

    def words(self, written: str) -> list[str]:
        """The most frequent words that begin so."""
        wanted = written.casefold()
        found = (word for word in self.trained.vocabulary.words[3:] if word.casefold().startswith(wanted))
        return [word for word, _ in zip(found, range(WORDS), strict=False)]


def plain(written: str) -> str:
    """As one would type it: small letters, hyphens for dashes, `column:value`."""
    return written.translate(DASHES).casefold().strip().replace("=", ":")


def values_of(design: Any) -> np.ndarray:
    """The number of the value that every attribute has in each column; −1 where it has none (A×Q)."""
    parts = []
    for term, codes in zip(design.terms, design.combinations, strict=True):
        part = np.full((len(codes), len(design.columns)), -1, dtype=np.int32)
        part[:, list(term)] = codes
        parts.append(part)
    return np.concatenate(parts)
