"""Parallel sentences to learn from, and documents with topics to be judged on: Europarl with Reuters or open topics.

A *pair* such as en-de is two files, line i of one the translation of line i of the other. All pairs share their first
language, the *pivot*. Its lines are the *source* side of a pair, those of the other file the *target* side. The lines
of a pair are divided into *parts*:

    train     learned from
    val       retrieval after each epoch: a few lines taken evenly from the training file
    heldout   as many again, for the results
    unpaired  training lines that a limit leaves out: read for their words only
    dev       the given development file
    test      the given test file, for the results

A *text* is what is stored: the lines of one language on one side of one part. A side is one text, except where
languages are told apart: then a target side is one text for each language its lines are written in. multilingual.py
makes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from lightning import LightningDataModule

from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.ragged import Ragged, offsets_of
from atd.settings import listed, number, one_of, optional, whole
from atd.tokeniser import KINDS, Tokeniser
from atd.vocabulary import SPECIALS, Vocabulary
from datamodules.cache import fingerprint, open_or_build
from datamodules.compounds import parts
from datamodules.corpus import sample_folder
from datamodules.encode import ids
from datamodules.multilingual import encode_texts, read_texts
from datamodules.pairs import PairLoader, Pairs
from datamodules.readers.bible import find_bible
from datamodules.readers.parallel import find_pairs
from datamodules.readers.topics import SOURCES, read_topics


class EuroparlRCV(LightningDataModule):
    """Pairs around one pivot, each language with its own vocabulary and number; the pivot is number 0.

    What is learned from:
    - `limit`: only the first n training lines of a pair, to play a language with little parallel text.
    - `unpaired`: the words of the lines that a limit leaves out are in the vocabulary, too. They are never trained, but
      a model of character n-grams can spell them.
    - `told_apart`: a line belongs to the language it is written in, not to the one its file says. Parliament prints
      many speeches untranslated, so a "German" file has lines in a dozen languages, which otherwise count as German.
    - `bible`: languages whose verses, beside the pivot's, join the training lines.
    - `holdout`: lines for val, and as many again for heldout; at most a tenth of the file each.
    - `dropout`: share of the words left out of a training sentence, others every time.

    Which words are known:
    - `min_count`, `max_size`: rarer words are `<unk>`; at most so many words to a vocabulary.
    - `vectors`: the words of this file join the pivot's vocabulary, even those the text does not have, for a model
      can start them at their vectors.
    - `compounds`: an unknown word of a document with a topic stands for the known words it is made of, for German
      writes "Reisekaufmann" where English has two words. Sentences are not changed.

    `topic_sets` names the sets of documents with topics that are there. `sample`: a parliament of our own making, in
    place of the files under `path`.

    After `setup`: `languages`, `vocabularies` (one each), `training()`, `source(pair, part)`, `target(pair, part)`,
    `topics(source, language, split)`.
    """

    name: str  # never None, as Lightning has it

    def __init__(
        self,
        *,
        name: str,
        path: str | Path,
        cache: str | Path,
        pairs: Sequence[str],
        batch_size: Annotated[int, whole(1)],
        seed: Annotated[int, whole(0)],
        limit: Mapping[str, Annotated[int | None, optional(whole(1))]] | None = None,
        holdout: Annotated[int, whole(1)] = 2000,
        bible: Sequence[str] = (),
        topic_sets: Annotated[Sequence[str], listed(one_of(*SOURCES))] = (),
        unpaired: bool = False,
        told_apart: bool = False,
        vectors: str | Path | None = None,
        tokeniser: Annotated[str, one_of(*KINDS)] = "fast",
        min_count: Annotated[int, whole(1)] = 2,
        max_size: Annotated[int | None, optional(whole(len(SPECIALS) + 1))] = None,
        compounds: bool = False,
        dropout: Annotated[float, number(0, 0.99)] = 0.0,
        sample: bool = False,
        rebuild: bool = False,
    ):
        super().__init__()
        self.name = name
        self.path = sample_folder(cache) if sample else Path(path)
        self.cache = Path(cache)
        self.pairs = list(pairs)
        self.pivot = pivot_of(self.pairs)
        self.limit = {pair: int(n) for pair, n in (limit or {}).items() if n is not None}
        if unknown := [pair for pair in self.limit if pair not in self.pairs]:
            raise AtdError(f"task.limit.{unknown[0]}: no such pair; task.pairs has {', '.join(self.pairs)}")
        self.holdout = holdout
        self.bible = list(bible)
        self.topic_sets = list(topic_sets)
        self.unpaired = unpaired and bool(self.limit)
        self.told_apart = told_apart
        self.vectors = vectors
        self.kind = tokeniser
        self.min_count = min_count
        self.max_size = max_size
        self.compounds = compounds
        self.dropout = dropout
        self.batch_size = batch_size
        self.seed = seed
        self.draws = 0  # contrastive sentences drawn for each training pair: the objective says how many it needs
        self.rebuild = rebuild
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

    def contents(self) -> str:
        """How many sentences every part of each pair has, and how many words each language, in a line."""
        parts: dict[str, dict[str, None]] = {}
        for pair, part, side, *_ in self.corpus.meta["texts"]:
            if side == "source":
                parts.setdefault(pair, {})[part] = None
        pairs = [
            f"{pair} {', '.join(f'{part} {len(self.source(pair, part)):,}' for part in of_pair)}"
            for pair, of_pair in parts.items()
        ]
        words = [f"{language} {len(known):,}" for language, known in zip(self.languages, self.vocabularies)]
        return f"{self.name}: sentences: {'; '.join(pairs)}; vocabulary: {', '.join(words)} words"

    def _texts(self, pair: str, part: str, side: str) -> list[tuple[int, slice]]:
        """Every text of one side: the number of its language, and its lines in the corpus."""
        texts = self.corpus.meta["texts"]
        first = np.searchsorted(self.corpus.columns["text"], np.arange(len(texts) + 1))
        chosen = [i for i, text in enumerate(texts) if text[:3] == [pair, part, side]]
        if not chosen:
            raise AtdError(f"{pair} has no part {part!r}; the pairs are {', '.join(self.pairs)}")
        return [(self.languages.index(texts[i][3]), slice(int(first[i]), int(first[i + 1]))) for i in chosen]

    def _sentences(self, rows: slice) -> Ragged:
        """Some lines of the corpus, a view of the mapped file."""
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
        """Whether each word, of the vocabularies one after another (ΣV_l), is in a training sentence."""
        seen = np.zeros(int(self.bounds[-1]), dtype=bool)
        for pairs in self.training():
            for language, side in zip(pairs.languages, (pairs.source, pairs.target), strict=True):
                seen[self.bounds[language] + np.unique(side.tokens)] = True
        return seen

    def source(self, pair: str, part: str) -> Ragged:
        """The pivot's side of a part."""
        return self._sentences(self._texts(pair, part, "source")[0][1])

    def target(self, pair: str, part: str) -> list[tuple[int, np.ndarray, Ragged]]:
        """The other side, text by text: (language, places of its lines in the part, its sentences).

        One text, unless languages are told apart.
        """
        texts = self._texts(pair, part, "target")
        return [(lang, self.corpus.columns["row"][rows], self._sentences(rows)) for lang, rows in texts]

    def written_in(self, pair: str, part: str) -> np.ndarray:
        """The language that each line of the other side is written in; known for dev and test."""
        out = np.empty(len(self.source(pair, part)), dtype=object)
        for _, rows in self._texts(pair, part, "target"):
            out[self.corpus.columns["row"][rows]] = self.corpus.columns["written_in"][rows].to_pylist()
        return out

    def topics(self, source: str, language: str, split: str) -> tuple[Ragged, np.ndarray]:
        """A split of a set of documents with one topic each, in the words of a language: (documents, topics)."""
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
        loader = PairLoader(
            self.training(),
            self.bounds,
            self.batch_size,
            self.seed,
            dropout=self.dropout,
            draws=self.draws,
            rank=self.trainer.global_rank if self.trainer else 0,
            world_size=self.trainer.world_size if self.trainer else 1,
        )
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


def pivot_of(pairs: Sequence[str]) -> str:
    """The language that all pairs begin with."""
    firsts = {pair.split("-")[0] for pair in pairs}
    others = {pair.split("-")[-1] for pair in pairs}
    if len(firsts) != 1 or len(others) < len(pairs):
        raise AtdError(f"task.pairs={list(pairs)}: pairs such as en-de, en-fr, all from one language, each once")
    return firsts.pop()
