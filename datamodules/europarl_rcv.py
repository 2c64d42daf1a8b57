"""Parallel sentences to learn from, and documents with topics to be judged on: Europarl with Reuters or open topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from lightning import LightningDataModule

from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.ragged import Ragged, offsets_of
from atd.tokeniser import Tokeniser
from atd.vocabulary import Vocabulary
from datamodules.cache import fingerprint, open_or_build
from datamodules.compounds import parts
from datamodules.corpus import sample_folder
from datamodules.encode import ids
from datamodules.multilingual import encode_texts, read_texts
from datamodules.pairs import PairLoader, Pairs
from datamodules.readers.bible import find_bible
from datamodules.readers.parallel import find_pairs
from datamodules.readers.topics import read_topics


class EuroparlRCV(LightningDataModule):
    """`pairs` share their first language, the pivot. `limit` keeps the first n training lines of a pair. `bible` names
    languages whose verses join the training pairs. `topic_sets` names the sets of documents with topics that are there.
    `unpaired`: the words of lines that a limit leaves out are in the vocabulary too; spelling can give them a vector.
    `told_apart`: lines go to the language they are written in. `vectors`: words of this file join the pivot's
    vocabulary, for they have a start. `compounds`: an unknown word of a document stands for the known words it is made
    of. See multilingual.py for parts.

    After `setup`: `languages`, `vocabularies` (one each), `training()`, `source(pair, part)`, `target(pair, part)`,
    `topics(source, language, split)`.
    """

    def __init__(
        self,
        *,
        name: str,
        path: str | Path,
        cache: str | Path,
        pairs: Sequence[str],
        batch_size: int,
        seed: int,
        limit: Mapping[str, int | None] | None = None,
        holdout: int = 2000,
        bible: Sequence[str] = (),
        topic_sets: Sequence[str] = (),
        unpaired: bool = False,
        told_apart: bool = False,
        vectors: str | Path | None = None,
        tokeniser: str = "fast",
        min_count: int = 2,
        max_size: int | None = None,
        compounds: bool = False,
        dropout: float = 0.0,
        draws: int = 0,
        sample: bool = False,
        rebuild: bool = False,
    ):
        super().__init__()
        self.pairs, self.pivot = list(pairs), pairs[0].split("-")[0] if pairs else ""
        others = [pair.split("-")[-1] for pair in self.pairs]
        if not pairs or any(pair.split("-")[0] != self.pivot for pair in self.pairs) or len(set(others)) < len(others):
            raise AtdError(f"task.pairs={self.pairs}: pairs such as en-de, en-fr, all from one language, each once")
        self.limit = {pair: int(n) for pair, n in (limit or {}).items() if n is not None}
        if unknown := [pair for pair in self.limit if pair not in self.pairs]:
            raise AtdError(f"task.limit.{unknown[0]}: no such pair; task.pairs has {', '.join(self.pairs)}")
        self.name, self.cache = name, Path(cache)
        self.path = sample_folder(cache) if sample else Path(path)
        self.holdout, self.bible, self.told_apart = holdout, list(bible), told_apart
        self.unpaired = unpaired and bool(self.limit)
        self.vectors, self.kind, self.min_count, self.max_size = vectors, tokeniser, min_count, max_size
        self.batch_size, self.seed, self.dropout, self.draws = batch_size, seed, dropout, draws
        self.compounds, self.rebuild, self.topic_sets = compounds, rebuild, list(topic_sets)
        self._corpus: EncodedCorpus | None = None
        self._saved: dict[str, Any] | None = None

    def prepare_data(self) -> None:
        """Read, tokenise, encode and cache; a second call finds the cache."""
        settings = {
            "pairs": self.pairs,
            "limit": self.limit,
            "holdout": self.holdout,
            "bible": self.bible,
            "told_apart": self.told_apart,
            **({"unpaired": True} if self.unpaired else {}),
            "tokeniser": Tokeniser(self.kind, self.pivot).key,
            "min_count": self.min_count,
            "max_size": self.max_size,
            "vectors": str(self.vectors),
        }
        key = {"corpus": "EuroparlRCV", "files": fingerprint(self._files()), **settings}
        self._corpus = open_or_build(key, self._build, self.cache, self.name, self.rebuild)
        self.rebuild = False

    def _files(self) -> list[Path]:
        found = [find_pairs(self.path, pair, split)[:2] for pair in self.pairs for split in ("train", "dev", "test")]
        places = [place for pair in found for place in pair]
        places += [find_bible(self.path, lang) for lang in self.bible]
        return sorted({place.path for place in places})

    def _build(self) -> EncodedCorpus:
        texts = read_texts(self.path, self.pairs, self.limit, self.holdout, self.bible, self.told_apart, self.unpaired)
        return encode_texts(texts, self.pivot, self.kind, self.min_count, self.max_size, self.vectors)

    @property
    def corpus(self) -> EncodedCorpus:
        if self._corpus is None:
            self.prepare_data()
        assert self._corpus is not None
        return self._corpus

    def setup(self, stage: str | None = None) -> None:
        states = self.corpus.meta["vocabularies"]
        self.languages = list(states)
        self.vocabularies = [Vocabulary.from_state(state) for state in states.values()]
        self.bounds = np.concatenate([[0], np.cumsum([len(v) for v in self.vocabularies])]).astype(np.int64)

    def _texts(self, pair: str, part: str, side: str) -> list[tuple[int, slice]]:
        """(language, rows of the corpus) of every text of one side."""
        texts = self.corpus.meta["texts"]
        first = np.searchsorted(self.corpus.columns["text"], np.arange(len(texts) + 1))
        chosen = [i for i, text in enumerate(texts) if text[:3] == [pair, part, side]]
        if not chosen:
            raise AtdError(f"{pair} has no part {part!r}; task.pairs has {', '.join(self.pairs)}")
        return [(self.languages.index(texts[i][3]), slice(int(first[i]), int(first[i + 1]))) for i in chosen]

    def _sentences(self, rows: slice) -> Ragged:
        """A view of the mapped file."""
        offsets = self.corpus.offsets[rows.start : rows.stop + 1]
        return Ragged(self.corpus.tokens[offsets[0] : offsets[-1]], offsets - offsets[0])

    def training(self) -> list[Pairs]:
        """Aligned training sentences, one `Pairs` for each language beside the pivot."""
        out = []
        for pair in dict.fromkeys(text[0] for text in self.corpus.meta["texts"] if text[1] == "train"):
            (pivot, source), (other, target) = (self._texts(pair, "train", s)[0] for s in ("source", "target"))
            out.append(Pairs((pivot, other), self._sentences(source), self._sentences(target)))
        return out

    def trained(self) -> np.ndarray:
        """Which rows of the common table have a word of a training sentence (ΣV_l)."""
        seen = np.zeros(int(self.bounds[-1]), dtype=bool)
        for pairs in self.training():
            for language, side in zip(pairs.languages, (pairs.source, pairs.target), strict=True):
                seen[self.bounds[language] + np.unique(side.tokens)] = True
        return seen

    def source(self, pair: str, part: str) -> Ragged:
        """The pivot's side of a part."""
        return self._sentences(self._texts(pair, part, "source")[0][1])

    def target(self, pair: str, part: str) -> list[tuple[int, np.ndarray, Ragged]]:
        """The other side: (language, lines, their sentences); one entry unless languages are told apart."""
        texts = self._texts(pair, part, "target")
        return [(lang, self.corpus.columns["row"][rows], self._sentences(rows)) for lang, rows in texts]

    def written_in(self, pair: str, part: str) -> np.ndarray:
        """The language that each line of the other side is written in; known for dev and test."""
        out = np.empty(len(self.source(pair, part)), dtype=object)
        for _, rows in self._texts(pair, part, "target"):
            out[self.corpus.columns["row"][rows]] = self.corpus.columns["written_in"][rows].to_pylist()
        return out

    def topics(self, source: str, language: str, split: str) -> tuple[Ragged, np.ndarray]:
        """Documents with one topic each, in a language of the model: (documents, categories)."""
        table = read_topics(self.path, source, language, split)
        tokens = Tokeniser(self.kind, language).folded(table["text"])
        vocabulary = self.vocabularies[self.languages.index(language)]
        labels = np.array(table["category"].to_pylist())
        if not self.compounds:
            return Ragged(ids(tokens, vocabulary), tokens.offsets), labels
        made = [parts(word, vocabulary) for word in tokens.types]
        known = Ragged(np.array([i for p in made for i in p]), offsets_of([len(p) for p in made]))
        words = known.take(tokens.tokens)
        return Ragged(words.tokens, words.offsets[tokens.offsets]), labels

    def train_dataloader(self) -> PairLoader:
        rank, world = (self.trainer.global_rank, self.trainer.world_size) if self.trainer else (0, 1)
        options = {"dropout": self.dropout, "draws": self.draws, "rank": rank, "world_size": world}
        loader = PairLoader(self.training(), self.bounds, self.batch_size, self.seed, **options)
        saved, self._saved = self._saved, None
        if saved:
            loader.load_state_dict(saved)
        return loader

    def val_dataloader(self) -> PairLoader:
        """The first pair's `val` as one batch, on every process: retrieval needs all candidates at once."""
        language, rows, target = next(t for t in self.target(self.pairs[0], "val") if t[0] == 1)
        pairs = Pairs((0, language), self.source(self.pairs[0], "val").take(rows), target)
        return PairLoader([pairs], self.bounds, len(pairs), self.seed, shuffle=False)

    def state_dict(self) -> dict[str, Any]:
        """The position in the epoch, so that it is restored whenever Lightning asks for the loader."""
        loader = self.trainer.train_dataloader if self.trainer else None
        return {"train": loader.state_dict()} if isinstance(loader, PairLoader) else {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._saved = state.get("train")
