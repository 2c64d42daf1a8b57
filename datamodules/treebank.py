"""The sentiment treebank: sentences, the phrases inside them, and the trees that join the phrases, all labelled.

The cache has one document per node of a tree, in preorder: a parent before its children, the left part before the
right. Sentences, phrases and trees are taken from it by indexing, and so are the texts of a language model, whose
attribute is the text itself (a vector per phrase, as in the paper) or its label (five vectors).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import torch

from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from atd.pretrained import find_vectors
from atd.ragged import Ragged, offsets_of, spans
from atd.settings import one_of, optional, whole
from atd.tokeniser import Tokens
from atd.vocabulary import SPECIALS, UNK_ID, Vocabulary
from datamodules.corpus import SPLITS, Corpus, sample_folder
from datamodules.download import fetch
from datamodules.encode import count_vocabulary, ids
from datamodules.readers.trees import SPLITS as FILES
from datamodules.readers.trees import find_trees, read_trees
from datamodules.trees import Trees

ATTRIBUTES = ("phrase", "label")
LABELS = ("very negative", "negative", "neutral", "positive", "very positive")


class Treebank(Corpus):
    """Sentences, phrases and trees, and a corpus for language models.

    After `setup`: `sentences(split)`, `phrases()` and `trees(split)`. Sentences and phrases have columns `label`, 0 to
    4, and `root`, whether the text is a whole sentence.

    For language models `encoded["train"]` holds every distinct phrase (`roots`: the sentences), val and test the
    sentences of dev and test. With `attribute: phrase` the held-out ones have rows of their own, untrained: infer them.

    Words are counted in the training sentences, not again in the phrases inside them. `held_out_words`: those that only
    dev and test have join the vocabulary behind the others and beyond `max_size`; they are read if the file `vectors`
    has them, else as `<unk>`. `sentences` keeps the first so many of train and a quarter of that elsewhere.
    """

    def __init__(
        self,
        *,
        attribute: Annotated[str, one_of(*ATTRIBUTES)] = "phrase",
        roots: bool = False,
        sentences: Annotated[int | None, optional(whole(4))] = None,
        held_out_words: bool = False,
        vectors: str | Path | None = None,
        sample: bool = False,
        **common: Any,
    ):
        super().__init__(**common)
        if self.tokeniser.kind != "whitespace":
            raise AtdError(
                f"data.tokeniser.kind={self.tokeniser.kind}: the words are the leaves of trees; use whitespace"
            )
        if vectors is not None and not held_out_words:
            raise AtdError(f"data.vectors={vectors}: says which held-out words are read; set data.held_out_words=true")
        self.attribute = attribute
        self.roots = roots
        self.most = sentences
        self.held_out_words = held_out_words
        self.vectors = None if vectors is None else Path(vectors)
        self.sample = sample
        self.nodes: dict[str, EncodedCorpus] = {}

    def inputs(self) -> list[Path]:
        if self.sample:
            self.path = sample_folder(self.cache)
        try:
            places = [find_trees(self.path, file) for file in FILES]
        except AtdError:
            fetch("treebank", self.path)
            places = [find_trees(self.path, file) for file in FILES]
        files = list(dict.fromkeys(place.path for place in places))
        if self.vectors is None:
            return files
        if not self.vectors.is_file():
            raise AtdError(f"data.vectors={self.vectors}: no such file; give the path of a GloVe or word2vec file")
        return [*files, self.vectors]

    def settings(self) -> dict[str, Any]:
        return {"sentences": self.most, "held_out_words": self.held_out_words}

    def build(self) -> EncodedCorpus:
        tables = [read_trees(self.path, file, most=self._most(file)) for file in FILES]
        split = np.repeat(np.arange(len(FILES), dtype=np.int8), [len(table) for table in tables])
        table = pa.concat_tables(tables)
        root = table["root"].to_numpy()
        sentences = self.tokeniser.folded(table.filter(table["root"])["text"])
        vocabulary = self._vocabulary(sentences, train=split[root] == 0)
        first = sentences.offsets[np.cumsum(root) - 1] + table["start"].to_numpy()
        length = table["length"].to_numpy().astype(np.int64)
        where = spans(torch.from_numpy(first), torch.from_numpy(length)).numpy()
        offsets = offsets_of(length)
        label = table["label"].to_numpy().astype(np.int64)
        columns = {
            "split": split,
            "label": label,
            "root": root,
            "phrase": distinct(Ragged(sentences.tokens[where], offsets)),
        }
        meta = {"vocabulary": vocabulary.state(), "attributes": list(LABELS), "column": "label"}
        tokens = self._ids(sentences, vocabulary)[where]
        return EncodedCorpus(tokens, offsets, label.astype(np.int32), columns, meta)

    def _most(self, file: str) -> int | None:
        if self.most is None:
            return None
        return self.most if file == "train" else self.most // 4

    def _vocabulary(self, sentences: Tokens, train: np.ndarray) -> Vocabulary:
        vocabulary = count_vocabulary(sentences, self.min_count, self.max_size, documents=train)
        if not self.held_out_words:
            return vocabulary
        unseen = sorted(w for w, n in sentences.counts(train).items() if n == 0 and w not in SPECIALS)
        return Vocabulary([*vocabulary.words, *unseen], [*vocabulary.counts, *[0] * len(unseen)])

    def _ids(self, sentences: Tokens, vocabulary: Vocabulary) -> np.ndarray:
        """Every token's id; words without either a count or a vector are read as `<unk>`."""
        known_V = vocabulary.counts > 0
        known_V[: len(SPECIALS)] = True
        if self.vectors is not None:
            known_V |= find_vectors(self.vectors, vocabulary)[1]
        found = ids(sentences, vocabulary)
        return np.where(known_V[found], found, np.int32(UNK_ID))

    def setup(self, stage: str | None = None) -> None:
        if self.encoded:
            return
        super().setup(stage)
        self.nodes = self.encoded
        texts = {split: self.sentences(split) for split in SPLITS}
        if not self.roots:
            texts["train"] = self.phrases()
        self.encoded = numbered(texts) if self.attribute == "phrase" else texts

    def sentences(self, split: str) -> EncodedCorpus:
        """The whole sentences of a split; the attribute of each is its label."""
        nodes = self.nodes[split]
        return nodes.take(nodes.columns["root"])

    def phrases(self) -> EncodedCorpus:
        """The distinct phrases of the training sentences, in the order in which they first occur.

        The label is the rounded mean of the labels of all occurrences; a root is what is a sentence somewhere.
        """
        nodes = self.nodes["train"]
        phrase = nodes.columns["phrase"]
        _, first, count = np.unique(phrase, return_index=True, return_counts=True)
        label = np.rint(np.bincount(phrase, nodes.columns["label"]) / count).astype(np.int64)
        root = np.bincount(phrase, nodes.columns["root"]) > 0
        texts = nodes.take(first)
        return replace(texts, attributes=label.astype(np.int32), columns=texts.columns | {"label": label, "root": root})

    def trees(self, split: str) -> Trees:
        return Trees.of(self.nodes[split])

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "nodes": {}}


def distinct(texts: Ragged) -> np.ndarray:
    """Each text's number among the distinct ones, counted in the order in which they first occur."""
    number: dict[bytes, int] = {}
    found = [number.setdefault(texts[i].tobytes(), len(number)) for i in range(len(texts))]
    return np.array(found, dtype=np.int32)


def lines(texts: EncodedCorpus) -> list[list[str]]:
    """The words of each text."""
    flat = np.array(texts.vocabulary.words, dtype=object)[texts.tokens].tolist()
    return [flat[a:b] for a, b in pairwise(texts.offsets.tolist())]


def numbered(parts: Mapping[str, EncodedCorpus]) -> dict[str, EncodedCorpus]:
    """Every text an attribute of its own, called by its words; numbers go on from part to part."""
    names = [" ".join(line) for part in parts.values() for line in lines(part)]
    first = offsets_of([len(part) for part in parts.values()]).astype(np.int32)
    return {
        split: replace(part, attributes=np.arange(a, b, dtype=np.int32), meta=part.meta | {"attributes": names})
        for (split, part), (a, b) in zip(parts.items(), pairwise(first), strict=True)
    }
