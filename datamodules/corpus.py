"""What every corpus has in common: files are found, encoded once, kept in the cache, and served as batches."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from lightning import LightningDataModule
from lightning.pytorch.utilities.rank_zero import rank_zero_only

from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.settings import MAPPING, either, one_of, optional, whole
from atd.tokeniser import KINDS, Tokeniser
from atd.training import VALIDATION_WORDS, suitable_batch
from atd.vocabulary import SPECIALS, Vocabulary
from atd.windows import WindowLoader
from datamodules import sample
from datamodules.cache import fingerprint, open_or_build

SPLITS = ("train", "val", "test")


class Windows(LightningDataModule):
    """Encoded texts, `encoded[split]` for train, val and perhaps test, as batches of words with the words before."""

    def __init__(self, encoded: dict[str, EncodedCorpus], context: int, batch_size: int, seed: int):
        super().__init__()
        self.encoded = encoded
        self.context = context
        self.batch_size = batch_size
        self.seed = seed
        self._saved: dict[str, Any] | None = None

    def train_dataloader(self) -> WindowLoader:
        loader = self.loader("train", shuffle=True)
        saved, self._saved = self._saved, None
        if saved:
            loader.load_state_dict(saved)
        return loader

    def val_dataloader(self) -> WindowLoader:
        """What epochs are compared by: all of the validation part, or a random few documents of a long one."""
        few = self.encoded["val"].sample(VALIDATION_WORDS)
        return self.batches(few, shuffle=False)

    def test_dataloader(self) -> WindowLoader:
        return self.loader("test")

    def loader(self, split: str, shuffle: bool = False) -> WindowLoader:
        return self.batches(self.encoded[split], shuffle)

    def batches(self, texts: EncodedCorpus, shuffle: bool, groups: np.ndarray | None = None) -> WindowLoader:
        """Batches of some texts, this process's share of them when there are several. A batch is of one group."""
        rank, world_size = (self.trainer.global_rank, self.trainer.world_size) if self.trainer else (0, 1)
        return WindowLoader(
            texts,
            self.context,
            self.batch_size,
            self.seed,
            shuffle,
            rank=rank,
            world_size=world_size,
            groups=groups,
        )

    def state_dict(self) -> dict[str, Any]:
        """The position in the epoch. Lightning saves it too, but forgets to load it when the loader was asked for
        before the checkpoint was read, as by `estimated_stepping_batches`; this way it is there in any case."""
        loader = self.trainer.train_dataloader if self.trainer else None
        return {"train": loader.state_dict()} if isinstance(loader, WindowLoader) else {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._saved = state["train"]


class Corpus(Windows):
    """A subclass says which files it reads (`inputs`), what else shapes the result (`settings`), and makes the encoded
    corpus (`build`): documents in the order of SPLITS, their split number in `columns["split"]`, and in `meta` the
    `vocabulary` and the names of the `attributes`.

    `path`: the file or folder of raw text. `cache`: the folder of encoded corpora; `rebuild` encodes anew what is
    there. `tokeniser`: its settings or its kind. `min_count`: rarer words are unknown. `max_size`: most words of the
    vocabulary. A batch has `batch_size` words over all processes (None: `suitable_batch`), each with `context` words
    before it; `seed` shuffles.

    After `setup`: `encoded[split]`, `vocabulary`, `attributes` (names; an attribute's id is its place).
    """

    name: str  # never None, as Lightning has it

    def __init__(
        self,
        name: str,
        path: str | Path,
        context: Annotated[int, whole(1)],
        batch_size: Annotated[int | None, optional(whole(1))],
        seed: Annotated[int, whole(0)],
        cache: str | Path,
        tokeniser: Annotated[Tokeniser | Mapping[str, Any] | str, either(one_of(*KINDS), MAPPING)] = "fast",
        min_count: Annotated[int, whole(1)] = 1,
        max_size: Annotated[int | None, optional(whole(len(SPECIALS) + 1))] = None,
        rebuild: bool = False,
    ):
        super().__init__({}, context, batch_size or 0, seed)  # 0: `setup` chooses
        self.name = name
        self.path = Path(path)
        self.cache = Path(cache)
        self.tokeniser = Tokeniser.of(tokeniser)
        self.min_count = min_count
        self.max_size = max_size
        self.rebuild = rebuild
        self.shuffled: int | None = None

    def inputs(self) -> list[Path]:
        """The files the corpus is made of, downloaded if need be."""
        raise NotImplementedError

    def settings(self) -> dict[str, Any]:
        """What the cache key must hold besides files, tokeniser and the size of the vocabulary."""
        return {}

    def build(self) -> EncodedCorpus:
        raise NotImplementedError

    @property
    def vocabulary(self) -> Vocabulary:
        return self.encoded["train"].vocabulary

    @property
    def vocabularies(self) -> list[Vocabulary]:
        """One per language where vocabularies are unshared."""
        return [self.vocabulary]

    @property
    def attributes(self) -> list[str]:
        return self.encoded["train"].meta["attributes"]

    def contents(self) -> str:
        """How many texts there are, and how much to learn from, in a line."""
        texts = ", ".join(f"{name} {len(part):,}" for name, part in self.encoded.items())
        return f"{self.name}: texts: {texts}; to learn from {len(self.encoded['train'].tokens):,} tokens"

    def tokens(self, text: str) -> list[int]:
        """The ids of a text that a user gives, by the rules of this corpus."""
        return self.vocabulary.encode(self.tokeniser.words(text)).tolist()

    def prepare_data(self) -> None:
        """Encode and cache; a second call finds the cache. Processes on one machine wait for each other."""
        rank = getattr(rank_zero_only, "rank", None)  # None where Lightning has not been asked yet
        self._open(rebuild=self.rebuild and rank in (0, None))
        self.rebuild = False

    def setup(self, stage: str | None = None) -> None:
        if self.encoded:
            return
        corpus = self._open(rebuild=False)
        split = corpus.columns["split"]
        self.encoded = {name: corpus.take(split == i) for i, name in enumerate(SPLITS)}
        if self.shuffled is not None:
            self.encoded = {name: part.shuffled(self.shuffled) for name, part in self.encoded.items()}
        for name, part in self.encoded.items():
            if not len(part.tokens):
                raise AtdError(f"data={self.name}: no text for {name}; the corpus is too small to hold some of it out")
        if all(len(vocabulary) <= len(SPECIALS) for vocabulary in self.vocabularies):
            raise AtdError(f"data.min_count={self.min_count}: no word of data={self.name} occurs so often; lower it")
        self.batch_size = self.batch_size or suitable_batch(len(self.encoded["train"].tokens))

    def with_shuffled(self, seed: int) -> Self:
        """The same corpus with its attributes dealt to the texts at random, within each part. They mean nothing."""
        other = copy.copy(self)
        other.shuffled = seed
        other.setup("fit")
        return other

    def __getstate__(self) -> dict[str, Any]:
        """Without the mapped arrays and the trainer: another process opens the cache itself, in `setup`."""
        return {**self.__dict__, "encoded": {}, "trainer": None}

    def _open(self, rebuild: bool) -> EncodedCorpus:
        key = {
            "corpus": type(self).__name__,
            "files": fingerprint(self.inputs()),
            "tokeniser": self.tokeniser.key,
            "min_count": self.min_count,
            "max_size": self.max_size,
            **self.settings(),
        }
        return open_or_build(key, self.build, self.cache, self.name, rebuild)


def sample_folder(cache: str | Path) -> Path:
    """The sample corpora that ship as a generator, written on first use and kept."""
    return sample.write(Path(cache) / f"sample-{sample.version}")


def by_split(split: np.ndarray) -> np.ndarray:
    """The order of documents that puts each split in one piece, so that it can be opened without a copy."""
    return np.argsort(split, kind="stable")
