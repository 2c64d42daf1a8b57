"""A trained model and what one asks of it, in NumPy arrays and plain values.

    model = atd.load("outputs/attributes/2026-01-31_12-00-00")
    model.most_similar("love", given={"gender": "f"})

`given` is what is known of a text: None, a name such as `f` or `gender=f`, a mapping of columns to values, a weighted
sum of names, or a vector of D numbers. `atd.given` says more.

V vocabulary, K word dim, D attribute dim, A attributes, n texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from atd import checkpoint
from atd.design import Design
from atd.errors import AtdError
from atd.generate import generate
from atd.given import resolve
from atd.lm import ConditionedModel, MultiplicativeLM, NextWordModel
from atd.neighbours import compare, neighbours
from atd.ragged import Ragged
from atd.tokeniser import Tokeniser
from atd.usage import state_of, usage_under
from atd.vocabulary import BOS_ID, SPECIALS, UNK_ID, Vocabulary

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from atd.inference import Inferred
    from atd.tokeniser import Texts

Given: TypeAlias = str | Mapping[str, Any] | np.ndarray | Tensor | Sequence[float] | None
ROWS = 1024  # words whose loss is taken at once


@dataclass(frozen=True)
class Compared:
    """The neighbours of a word under a and under b."""

    common: list[str]
    only_a: list[str]
    only_b: list[str]


@dataclass
class Trained:
    """A language model with the names that make its numbers readable.

    Where every language has its own words, `language` is the number of one; else there is only 0.
    """

    model: NextWordModel
    vocabularies: list[Vocabulary]  # one per language
    design: Design  # what the attributes are
    config: dict[str, Any]  # what `atd.models.build` made the model from
    tokeniser: Tokeniser | None = None  # of the corpus it learned from, if the checkpoint says
    usage: csr_array | None = None  # words of training text under each attribute (V×A), if the checkpoint says

    @property
    def attributes(self) -> list[str]:
        """The names of all that has a vector."""
        return self.design.names

    @property
    def columns(self) -> dict[str, list[str]]:
        """The values of every column that describes the texts."""
        return {column.name: list(column.values) for column in self.design.columns}

    @property
    def vocabulary(self) -> Vocabulary:
        return self.vocabularies[0]

    def x(self, given: Given) -> Tensor:
        """The vector x that `given` stands for (D)."""
        model = self._conditional()
        if not (given is None or isinstance(given, str | Mapping)):
            x_D = torch.as_tensor(np.asarray(given), dtype=model.L.dtype)
            if x_D.shape != model.L.shape[1:]:
                raise AtdError(f"a vector of {model.L.shape[1]} numbers is expected, not of shape {tuple(x_D.shape)}")
            return x_D
        weight_P, shares_PA = map(torch.from_numpy, resolve(given, self.design))
        with torch.no_grad():
            x_PD = model.blended(shares_PA)
            return weight_P.to(x_PD) @ x_PD

    def vector(self, given: Given) -> np.ndarray:
        """The attribute vector of a profile (D)."""
        return self.x(given).numpy()

    @torch.inference_mode()
    def vectors(self, given: Given = None, language: int = 0) -> np.ndarray:
        """All word vectors (V×K): as `given` makes them, or without attributes."""
        return self._words(given, language).numpy()

    @torch.inference_mode()
    def most_similar(
        self, word: str | Sequence[str], given: Given = None, n: int = 10, language: int = 0, min_count: int = 0
    ) -> list[tuple[str, float]]:
        """The n words nearest to a word, or to the sum of several, and their cosines, best first.

        `min_count`: only words that texts described by `given` use so often.
        """
        vocabulary = self.vocabularies[language]
        query = [vocabulary.id(one) for one in ([word] if isinstance(word, str) else word)]
        vectors_VK = self._words(given, language)
        exclude = [*query, *self.rare(given, min_count, language)]
        ids, cosines = neighbours(vectors_VK, query, n, exclude=exclude)
        return list(zip(vocabulary.decode(ids), cosines.tolist(), strict=True))

    @torch.inference_mode()
    def compare(self, word: str, a: Given, b: Given, n: int = 15, min_count: int = 0) -> Compared:
        """The n neighbours of a word under a and under b: those of both, only a's, only b's.

        `min_count`: only words that texts described by a, or by b, use so often.
        """
        words = self.vocabulary
        exclude = np.intersect1d(self.rare(a, min_count), self.rare(b, min_count))
        found = compare(self.model, words.id(word), self.x(a), self.x(b), n, exclude=exclude.tolist())
        return Compared(*map(words.decode, (found.common, found.unique_a, found.unique_b)))

    def counts(self, given: Given = None, language: int = 0) -> np.ndarray:
        """How often training texts that are described by `given` use each word (V).

        Of several columns together the rarest decides. What is no name and no profile stands for all texts.
        """
        if not isinstance(given, str | Mapping) or not given:
            return self.vocabularies[language].counts
        if self.usage is None:
            raise AtdError("the checkpoint does not say which attribute uses a word how often")
        return usage_under(self.usage, self.design, given)

    def rare(self, given: Given, min_count: int, language: int = 0) -> list[int]:
        """The words that texts described by `given` use less often, and those that are none, such as <unk>."""
        out = set(range(len(SPECIALS)))
        if min_count:
            out.update(np.flatnonzero(self.counts(given, language) < min_count).tolist())
        return sorted(out)

    def tokens(self, texts: Texts, language: int = 0) -> Ragged:
        """Texts as the ids of their words, tokenised as the corpus was; a word the model never met is `<unk>`."""
        if self.tokeniser is None:
            fix = "set .tokeniser, such as atd.Tokeniser('fast', 'en')"
            raise AtdError(f"the checkpoint does not say how its texts were tokenised; {fix}")
        tokens = self.tokeniser.folded([texts] if isinstance(texts, str) else texts)
        ids = self.vocabularies[language].encode(tokens.types)
        return Ragged(ids[tokens.tokens], tokens.offsets)

    def encode(self, texts: Texts, order: bool = True, **options: Any) -> np.ndarray:
        """The inferred attribute vector of every text (n×D); `options` are those of `atd.inference.infer`.

        Without `order` texts are bags of words, and the options are those of `atd.inference.bag_of_words`.
        """
        if not order:
            from atd.inference import bag_of_words

            return bag_of_words(self._multiplicative(), *self.tokens(texts).flat, **options).numpy()
        return self.infer(texts, **options).x.numpy()

    def infer(self, texts: Texts, **options: Any) -> Inferred:
        """The same with what is known of the solution: its loss, its gradient, whether it converged."""
        from atd.inference import infer

        return infer(self._multiplicative(), *self.tokens(texts).flat, **options)

    @torch.inference_mode()
    def log_likelihood(self, texts: Texts, given: Given = None) -> np.ndarray:
        """log P of every text, in nats (n). Of a model with attributes None is the average text."""
        found = self.tokens(texts)
        target, _ = found.flat
        context_TN = torch.from_numpy(found.windows(self.config["context"]))
        x_D = self.x(given) if isinstance(self.model, ConditionedModel) else None
        losses = [torch.zeros(0)]
        for rows in torch.arange(len(target)).split(ROWS):
            x_BD = None if x_D is None else x_D.expand(len(rows), -1)
            losses.append(self.model.nll(context_TN[rows], target[rows], x_BD, reduction="none"))
        return -np.bincount(found.owner, torch.cat(losses).double().numpy(), len(found))

    def perplexity(self, texts: Texts, given: Given = None) -> np.ndarray:
        """The perplexity of every text (n): how many words the model chooses among, on average. NaN without words."""
        words = self.tokens(texts).lengths
        with np.errstate(invalid="ignore"):
            return np.exp(-self.log_likelihood(texts, given) / words)

    def predict(self, texts: Texts, column: str | None = None) -> np.ndarray:
        """The likeliest value of a column for every text (n); without a column, of the only one."""
        values, probability = self.probabilities(texts, column)
        return np.array(values, dtype=object)[probability.argmax(1)]

    def probabilities(self, texts: Texts, column: str | None = None) -> tuple[list[str], np.ndarray]:
        """(the values of a column, P(value | text) of each (n×values)).

        By Bayes' rule from the likelihood of the text under every value, other columns at their average, and from how
        many words of training text each value has.
        """
        from atd.likelihood import log_likelihoods

        values = self.columns[self._column(column)]
        name = self._column(column)
        x_VD = torch.stack([self.x({name: value}) for value in values])
        log_p = log_likelihoods(self._multiplicative(), self.tokens(texts), x_VD) + np.log(self.prior(name))
        p = np.exp(log_p - log_p.max(1, keepdims=True))
        return values, p / p.sum(1, keepdims=True)

    def generate(
        self, given: Given = None, words: int = 40, seed: int = 0, temperature: float = 0.8, language: int = 0
    ) -> str:
        """A text from its beginning, as `given` writes, or without attributes. Equal seeds, equal text."""
        x_D = None if given is None else self.x(given)
        generator = torch.Generator().manual_seed(seed)
        ids = generate(
            self.model,
            x_D,
            [BOS_ID],
            words,
            generator=generator,
            temperature=temperature,
            forbid=(UNK_ID, BOS_ID),
            language=language,
        )
        return " ".join(self.vocabularies[language].decode(ids[0]))

    def state(self) -> dict[str, Any]:
        """All that `atd.load` needs, as plain values and tensors."""
        from dataclasses import asdict

        return {
            "state_dict": {f"model.{name}": value for name, value in self.model.state_dict().items()},
            "atd": {
                "format": 1,
                "model": self.config,
                "vocabularies": [vocabulary.state() for vocabulary in self.vocabularies],
                "attributes": self.attributes,
                "design": self.design.state(),
                "tokeniser": None if self.tokeniser is None else asdict(self.tokeniser),
                "usage": None if self.usage is None else state_of(self.usage),
            },
        }

    def save(self, path: str | Path) -> Path:
        """Write one file that `atd.load` reads; the old one, if any, stays until the new one is whole."""
        path = Path(path)
        checkpoint.write(self.state(), path)
        return path

    def _words(self, given: Given, language: int) -> Tensor:
        before = sum(len(vocabulary) for vocabulary in self.vocabularies[:language])
        vectors_VK = self.model.embeddings(None if given is None else self.x(given))
        return vectors_VK[before : before + len(self.vocabularies[language])]

    def _column(self, name: str | None) -> str:
        names = list(self.columns)
        if name is None and len(names) == 1:
            return names[0]
        if name not in names:
            raise AtdError(f"there is no column {name!r}; the columns are {', '.join(names)}")
        return name

    def prior(self, column: str) -> np.ndarray:
        """The share of training text that has each value of a column."""
        q = list(self.columns).index(column)
        term = next(t for t, columns in enumerate(self.design.terms) if q in columns)
        place = self.design.terms[term].index(q)
        words_A = self.design.words_A if len(self.design.words_A) else np.ones(len(self.attributes))
        words = words_A[self.design.term_A == term]
        counts = np.bincount(self.design.combinations[term][:, place], words, len(self.columns[column]))
        return np.maximum(counts, 1) / np.maximum(counts, 1).sum()

    def _conditional(self) -> ConditionedModel:
        if not isinstance(self.model, ConditionedModel):
            raise AtdError("a log-bilinear model has no attributes; load a multiplicative one")
        return self.model

    def _multiplicative(self) -> MultiplicativeLM:
        if not isinstance(self.model, MultiplicativeLM) or len(self.vocabularies) > 1:
            raise AtdError("this needs a multiplicative model (atd or paper) with one vocabulary")
        return self.model
