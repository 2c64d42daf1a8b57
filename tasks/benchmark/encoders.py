"""What one would take instead of our encoding: an expression and a dictionary, Hugging Face's tokenizers, spaCy.

Each gives the distinct words, a number of one of them for every word of the texts, and how many words each text has.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
from array import array
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np

WORD = re.compile(r"\w+|[^\w\s]")
Found = tuple[list[str], np.ndarray, list[int]]


def written(found: Found, folder: Path) -> None:
    """The vocabulary, most frequent words first, and the ids and bounds of all texts as files."""
    words, numbers, lengths = found
    counts = np.bincount(numbers, minlength=len(words))
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(len(words), np.int32)
    rank[order] = np.arange(len(words))
    np.save(folder / "ids.npy", rank[numbers])
    np.save(folder / "offsets.npy", np.cumsum([0, *lengths]))
    vocabulary = {"words": [words[i] for i in order.tolist()], "counts": counts[order].tolist()}
    (folder / "vocabulary.json").write_text(json.dumps(vocabulary))


def by_expression(texts: list[str]) -> Found:
    """One pass: a word gets its number when it first comes."""
    place: defaultdict[str, int] = defaultdict()
    place.default_factory = place.__len__
    numbers, lengths = array("i"), []
    for text in texts:
        words = WORD.findall(text.lower())
        lengths.append(len(words))
        numbers.extend(map(place.__getitem__, words))
    return list(place), np.frombuffer(numbers, np.int32), lengths


class Expression:
    """The same in several processes, which have their texts before the clock starts."""

    def __init__(self, texts: list[str], processes: int):
        self.parts = [texts[len(texts) * k // processes : len(texts) * (k + 1) // processes] for k in range(processes)]
        self.pool: Any = None

    def __enter__(self) -> Self:
        if len(self.parts) > 1:
            context = multiprocessing.get_context("spawn")
            self.pool = context.Pool(len(self.parts), _keep, (self.parts,))
        return self

    def __exit__(self, *error: object) -> None:
        if self.pool is not None:
            self.pool.terminate()

    def __call__(self) -> Found:
        if self.pool is None:
            return by_expression(self.parts[0])
        return _joined(self.pool.map(_part, range(len(self.parts)), 1))


_kept: list[list[str]] = []


def _keep(parts: list[list[str]]) -> None:
    _kept.extend(parts)


def _part(k: int) -> Found:
    return by_expression(_kept[k])


def _joined(parts: list[Found]) -> Found:
    place: dict[str, int] = {}
    numbers, lengths = [], []
    for words, own, length in parts:
        number = np.array([place.setdefault(word, len(place)) for word in words], np.int32)
        numbers.append(number[own])
        lengths += length
    return list(place), np.concatenate(numbers), lengths


def by_tokenizers(texts: list[str], threads: int) -> Found:
    """WordLevel: a vocabulary learnt on the texts, then all of them encoded at once."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()  # the faster of those that split off punctuation
    trainer = trainers.WordLevelTrainer(vocab_size=10_000_000, special_tokens=["<unk>"], show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    ids = [text.ids for text in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
    vocabulary = tokenizer.get_vocab()
    return sorted(vocabulary, key=vocabulary.__getitem__), np.concatenate(ids).astype(np.int32), list(map(len, ids))


def by_spacy(texts: list[str], processes: int) -> Found:
    from spacy.attrs import LOWER

    nlp = _blank()
    keys = [document.to_array(LOWER) for document in nlp.pipe(texts, n_process=processes, batch_size=256)]
    found, numbers = np.unique(np.concatenate(keys), return_inverse=True)
    return [nlp.vocab.strings[key] for key in found.tolist()], numbers.astype(np.int32), list(map(len, keys))


@cache
def _blank() -> Any:
    import spacy

    return spacy.blank("en")
