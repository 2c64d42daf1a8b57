"""What the page asks of a model, as plain values: describe, generate, neighbours, place a text.

V vocabulary, A attributes, D attribute dim, T words of a text, S words of the softmax, F factors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from atd.errors import AtdError
from atd.expression import nearest_names
from atd.generate import generate
from atd.inference import infer
from atd.inference.words import SoftmaxWords
from atd.lm import MultiplicativeLM
from atd.neighbours import compare, unit
from atd.ragged import Ragged, offsets_of
from atd.softmax_kernel import losses
from atd.tokeniser import Tokeniser
from atd.vocabulary import BOS_ID, SPECIALS, UNK_ID
from tasks.figures.maps import groups_of, plane, project
from tasks.learning.models import Trained

READ = 300  # words of a pasted text that its vector is inferred from
SOFTMAX = 1000  # words the softmax runs over while a text is placed: the frequent ones and a sample of the rest
STEPS = 20  # of inference; with the above 0.1 s, and a cosine of 0.95–0.97 to the exact vector of 300 words
LINEAR = 40  # attributes up to which the map is a projection, on which a new text has an exact place


class UnknownWord(AtdError):
    def __init__(self, word: str, suggestions: list[str]):
        super().__init__(f"the model does not know the word “{word}”")
        self.suggestions = suggestions


class Queries:
    """One model and everything precomputed for it. Queries only read, so threads may share it."""

    def __init__(self, trained: Trained, name: str):
        self.name = name
        self.trained = trained
        self.words = (trained.tokeniser or Tokeniser()).words
        self.words("Built on first use.")
        assert isinstance(trained.model, MultiplicativeLM)
        self.model = trained.model
        self.vocabulary = trained.vocabulary
        self.names = trained.attributes
        self.index = {n: i for i, n in enumerate(self.names)}
        with torch.no_grad():
            self.x_AD = self.model.vectors().clone()
            self.softmax = SoftmaxWords(*self.model.output(), SOFTMAX)
        x = self.x_AD.numpy()
        self.points = plane(x) if len(x) <= LINEAR else project(x, "tsne", 15, 0)

    def describe(self) -> dict[str, Any]:
        groups = groups_of(self.names, "^[^-/]+")
        attributes = [
            {"name": n, "x": float(p[0]), "y": float(p[1]), "group": g}
            for n, p, g in zip(self.names, self.points, groups, strict=True)
        ]
        common = [w for w in self.vocabulary.words[len(SPECIALS) : 400] if len(w) > 3 and w.isalpha()]
        return {"name": self.name, "words": len(self.vocabulary), "attributes": attributes, "examples": common[::12]}

    def vector(self, mix: list[dict]) -> torch.Tensor:
        """Σ weight · x over named attributes and given vectors."""
        x = torch.zeros(self.x_AD.shape[1])
        for part in mix:
            weight = number(part.get("weight"), "weight", -10, 10)
            own = self.given(part["vector"]) if "vector" in part else self.trained.x(self.attribute(part.get("name")))
            x += weight * own
        return x

    def given(self, values: Any) -> torch.Tensor:
        if not isinstance(values, list) or len(values) != self.x_AD.shape[1]:
            raise AtdError(f"a vector of this model has {self.x_AD.shape[1]} numbers")
        return torch.tensor([number(v, "vector", -1e4, 1e4) for v in values])

    def attribute(self, name: Any) -> str:
        if not isinstance(name, str) or name not in self.index:
            near = nearest_names(str(name)[:100], self.names)
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            raise AtdError(f"no attribute is called “{str(name)[:100]}”{hint}")
        return name

    def generate(self, query: dict) -> dict[str, Any]:
        """Samples under a mix; the same query gives the same text."""
        x = self.vector(listed(query.get("mix"), "mix", 50))
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
        cosine_A = unit(self.x_AD) @ unit(x)
        near = cosine_A.topk(min(3, len(self.names)))
        return {
            "samples": [self.vocabulary.decode(row) for row in ids],
            "unknown": unknown[:20],
            "place": self.place(x),
            "nearest": [[self.names[i], float(c)] for c, i in zip(*near, strict=True)],
        }

    def neighbours(self, query: dict) -> dict[str, Any]:
        """A word's (or phrase's) neighbours under A and B, with the rank of each under the other."""
        words = self.words(text(query.get("word"), "word", 200))
        if not words:
            raise AtdError("type a word")
        for word in words:
            if word not in self.vocabulary:
                raise UnknownWord(word, self.vocabulary.nearest_spelling(word, 5))
        x_a, x_b = (self.trained.x(self.attribute(query.get(side))) for side in ("a", "b"))
        k = int(number(query.get("k", 15), "k", 1, 100))
        with torch.inference_mode():
            near = compare(self.model, self.vocabulary.encode(words).tolist(), x_a, x_b, k, range(len(SPECIALS)))
        columns = {
            "a": (near.near_a, near.cosine_a, near.rank_in_b),
            "b": (near.near_b, near.cosine_b, near.rank_in_a),
        }
        return {
            "word": " ".join(words),
            "common": self.vocabulary.decode(near.common),
            **{side: self.ranked(*lists) for side, lists in columns.items()},
        }

    def ranked(self, ids: list[int], cosines: list[float], other: list[int]) -> list[dict]:
        return [
            {"word": self.vocabulary.words[w], "cosine": c, "other_rank": r}
            for w, c, r in zip(ids, cosines, other, strict=True)
        ]

    def read(self, query: dict) -> dict[str, Any]:
        """Infer the vector of a text: its place on the map, the nearest attributes, the likeliest by perplexity."""
        ids, unknown = self.ids(text(query.get("text"), "text", 20_000))
        known = [i for i in ids if i != UNK_ID]
        if len(known) < 5:
            raise AtdError(f"only {len(known)} known words in the text; paste a sentence or more")
        text_ids = np.array(ids[:READ])
        pasted = Ragged(text_ids, offsets_of([len(text_ids)]))
        x = infer(self.model, *pasted.flat, samples=SOFTMAX, tolerance=0.1, iterations=STEPS).x[0]
        cosine_A = unit(self.x_AD) @ unit(x)
        perplexity_A = self.perplexities(pasted)
        return {
            "read": len(text_ids),
            "words": len(ids),
            "unknown": unknown[:20],
            "unknown_count": len(ids) - len(known),
            "vector": x.tolist(),
            "place": self.place(x),
            "nearest": [[self.names[i], float(cosine_A[i])] for i in cosine_A.argsort(descending=True)[:10].tolist()],
            "likeliest": [[self.names[i], float(perplexity_A[i])] for i in perplexity_A.argsort()[:10].tolist()],
        }

    @torch.inference_mode()
    def perplexities(self, pasted: Ragged) -> torch.Tensor:
        """Perplexity of a text under every attribute's vector (A), over the softmax of `SOFTMAX` words."""
        known = np.flatnonzero(pasted.tokens != UNK_ID)
        r_TF = self.model.context(torch.from_numpy(pasted.windows(len(self.model.C), known)))
        targets = self.softmax.targets(torch.from_numpy(pasted.tokens[known]))
        out = []
        for x_D in self.x_AD:
            nll_T = losses(self.model.condition(r_TF, x_D), self.softmax.candidates, targets)
            out.append(nll_T.mean().exp())
        return torch.stack(out)

    def place(self, x_D: torch.Tensor) -> list[float]:
        """Where a vector lies on the map: projected, or on a t-SNE map amid the attributes it is most like."""
        unit_AD = unit(self.x_AD).numpy()
        x = unit(x_D).numpy()
        if len(self.names) <= LINEAR:
            centre = unit_AD.mean(0)
            solution = np.linalg.lstsq(unit_AD - centre, self.points, rcond=1e-6)[0]
            return ((x - centre) @ solution).tolist()
        weight = np.exp(30 * (unit_AD @ x))
        return (weight @ self.points / weight.sum()).tolist()

    def ids(self, written: str) -> tuple[list[int], list[str]]:
        """Ids of a text's words, and its unknown words, each once."""
        words = self.words(written)
        unknown = dict.fromkeys(w for w in words if w not in self.vocabulary)
        return self.vocabulary.encode(words).tolist(), list(unknown)


def number(value: Any, name: str, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise AtdError(f"{name}: give a number from {low:g} to {high:g}")
    return value


def text(value: Any, name: str, most: int) -> str:
    if not isinstance(value, str):
        raise AtdError(f"{name}: give text")
    if len(value) > most:
        raise AtdError(f"{name}: {len(value):,} characters are too many; the limit is {most:,}")
    return value.encode("utf-8", "replace").decode()  # half a surrogate pair is no character


def listed(value: Any, name: str, most: int) -> list[dict]:
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value) or not 1 <= len(value) <= most:
        raise AtdError(f"{name}: give a list of 1 to {most} attributes with weights")
    return value
