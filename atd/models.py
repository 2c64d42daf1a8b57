"""A trained model out of a checkpoint file, and what one asks of it.

    trained = atd.load("outputs/tour/2026-01-31_12-00-00")
    trained.neighbours("light", "0.5*bible-kjv + 0.5*blake-poems")

V vocabulary, K word dim, D attribute dim, A attributes. A mix is one attribute's name or a weighted sum of several.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from atd.errors import AtdError
from atd.expression import parse
from atd.generate import generate
from atd.lm import LogBilinearLM, MultiplicativeLM, NextWordModel, TensorLM, UnsharedLM
from atd.mixture_lm import MixtureLM
from atd.neighbours import neighbours
from atd.open_lm import OpenLM
from atd.ragged import Ragged
from atd.tokeniser import Tokeniser
from atd.vocabulary import BOS_ID, SPECIALS, UNK_ID, Vocabulary

if TYPE_CHECKING:
    from atd.tokeniser import Texts

OPEN = ("gated", "additive", "shrink", "dropout", "sparse")  # options of the model whose gate starts open
OPTIONS = ("activation", "gate_bias", "dropout", "additive", "sparse")  # of the paper's, and those built on it
NAMES = ("atd", "lbl", "mixture", "paper", "tensor", "unshared")


def build(config: Mapping[str, Any], sizes: Sequence[int], A: int) -> NextWordModel:
    """The language model that a mapping describes, for vocabularies of these sizes and A attributes.

    `config` holds `name` (one of NAMES), the sizes `K`, `F`, `D`, `context`, and OPEN or OPTIONS; a model takes
    what it has.
    """
    config = dict(config)
    name = config["name"]
    V = sum(sizes)
    K = config["K"]
    N = config["context"]
    if name not in NAMES:
        raise AtdError(f"there is no language model called {name!r}; it is one of {', '.join(NAMES)}")
    if name == "lbl":
        return LogBilinearLM(V, K, N, config["dropout"])
    D = config["D"]
    if name == "tensor":
        return TensorLM(V, K, D, N, A, config["activation"])
    F = config["F"]
    if name == "atd":
        return OpenLM(V, K, D, F, N, A, **{key: config[key] for key in OPEN})
    options = {key: config[key] for key in OPTIONS}
    if name == "mixture":
        return MixtureLM(V, K, D, F, N, A, components=config["components"], **options)
    if name == "unshared":
        return UnsharedLM(sizes, K, D, F, N, A, **options)
    return MultiplicativeLM(V, K, D, F, N, A, **options)


@dataclass
class Trained:
    """A language model out of a checkpoint, with the names that make its numbers readable.

    Where every language has its own words, `language` is the number of one; else there is only 0.
    """

    model: NextWordModel
    vocabularies: list[Vocabulary]  # one per language
    attributes: list[str]
    config: dict[str, Any]  # what `build` made the model from
    tokeniser: Tokeniser | None = None  # of the corpus it learned from, if the checkpoint says

    @property
    def vocabulary(self) -> Vocabulary:
        return self.vocabularies[0]

    def encode(self, texts: Texts, language: int = 0) -> Ragged:
        """Texts as the ids of their words, tokenised as the corpus was; a word the model never met is `<unk>`."""
        if self.tokeniser is None:
            fix = "set .tokeniser, such as atd.Tokeniser('fast', 'en')"
            raise AtdError(f"the checkpoint does not say how its texts were tokenised; {fix}")
        tokens = self.tokeniser.folded([texts] if isinstance(texts, str) else texts)
        ids = self.vocabularies[language].encode(tokens.types)
        return Ragged(ids[tokens.tokens], tokens.offsets)

    def vector(self, mix: str) -> Tensor:
        """The vector x of an attribute or a mix (D)."""
        if isinstance(self.model, LogBilinearLM):
            raise AtdError("a log-bilinear model has no attributes; load a multiplicative one")
        x_AD = self.model.vectors().detach()
        return parse(mix, self.attributes).to(x_AD) @ x_AD

    @torch.inference_mode()
    def neighbours(self, word: str, mix: str | None = None, k: int = 10, language: int = 0) -> list[tuple[str, float]]:
        """The k words nearest to a word and their cosines, best first; with a mix, as it makes the words."""
        vocabulary = self.vocabularies[language]
        query = vocabulary.id(word)
        before = sum(len(v) for v in self.vocabularies[:language])
        vectors_VK = self.model.embeddings(None if mix is None else self.vector(mix))
        own_VK = vectors_VK[before : before + len(vocabulary)]
        ids, cosines = neighbours(own_VK, query, k, exclude=[query, *range(len(SPECIALS))])
        return list(zip(vocabulary.decode(ids), cosines.tolist(), strict=True))

    def generate(
        self, mix: str | None, words: int = 40, seed: int = 0, temperature: float = 0.8, language: int = 0
    ) -> str:
        """A text from its beginning, in the manner of an attribute or a mix, or of none. Equal seeds, equal text."""
        x_D = None if mix is None else self.vector(mix)
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


def load(path: str | Path) -> Trained:
    """Read a checkpoint file, or the best one of a run folder. Only plain values and tensors are accepted."""
    path = find_checkpoint(path)
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        saved = content["atd"]
        vocabularies = [Vocabulary.from_state(state) for state in saved["vocabularies"]]
        model = build(saved["model"], [len(v) for v in vocabularies], len(saved["attributes"]))
        weights = {k.removeprefix("model."): v for k, v in content["state_dict"].items() if k.startswith("model.")}
        model.load_state_dict(weights)
        tokeniser = Tokeniser.of(saved["tokeniser"]) if saved.get("tokeniser") else None
    except Exception as error:
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise AtdError(
            f"{path}: not a checkpoint of this program ({reason}); give a file or run folder it wrote"
        ) from None
    return Trained(model.eval(), vocabularies, list(saved["attributes"]), dict(saved["model"]), tokeniser)


def find_checkpoint(path: str | Path) -> Path:
    """The file itself, or inside a run folder the best checkpoint of its first (main) model."""
    path = Path(path)
    if path.is_file():
        return path
    for pattern in ("checkpoints/atd/best.ckpt", "checkpoints/*/best.ckpt", "best.ckpt"):
        if found := sorted(path.glob(pattern)):
            return found[0]
    problem = "no checkpoints/*/best.ckpt in this folder" if path.is_dir() else "no such file or folder"
    raise AtdError(f"{path}: {problem}; give a checkpoint file or the folder of a run that trained a model")
