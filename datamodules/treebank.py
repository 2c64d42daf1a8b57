"""The sentiment treebank as a corpus for language models: every labelled phrase is a document.

Its attribute is the phrase itself (a vector per phrase, as in the paper) or its label (five vectors).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from datamodules.corpus import Corpus, sample_folder
from datamodules.download import fetch
from datamodules.encode import count_vocabulary, ids
from datamodules.readers.trees import find_trees, read_trees

ATTRIBUTES = ("phrase", "label")
LABELS = ("very negative", "negative", "neutral", "positive", "very positive")
SPLITS = ("train", "dev", "test")


class Treebank(Corpus):
    """Train holds every distinct phrase (`roots`: only whole sentences), val and test the whole sentences of dev and
    test; `sentences` keeps the first so many of train and a quarter of that elsewhere. With `attribute: phrase`
    held-out sentences have rows of their own, untrained: infer them.

    Columns per document: `label` 0–4, `length` in words, `root`.
    """

    def __init__(
        self,
        *,
        attribute: str = "phrase",
        roots: bool = False,
        sentences: int | None = None,
        sample: bool = False,
        **common: Any,
    ):
        super().__init__(**common)
        if attribute not in ATTRIBUTES:
            raise AtdError(f"data.attribute={attribute}: must be one of {', '.join(ATTRIBUTES)}")
        self.attribute, self.roots, self.sentences, self.sample = attribute, roots, sentences, sample

    def inputs(self) -> list[Path]:
        if self.sample:
            self.path = sample_folder(self.cache)
        try:
            places = [find_trees(self.path, split) for split in SPLITS]
        except AtdError:
            fetch("treebank", self.path)
            places = [find_trees(self.path, split) for split in SPLITS]
        return list(dict.fromkeys(place.path for place in places))

    def settings(self) -> dict[str, Any]:
        return {"attribute": self.attribute, "roots": self.roots, "sentences": self.sentences}

    def build(self) -> EncodedCorpus:
        parts = [self._part(split) for split in SPLITS]
        table = pa.concat_tables(parts)
        split = np.repeat(np.arange(len(parts), dtype=np.int8), [len(part) for part in parts])
        tokens = self.tokeniser.folded(table["text"])
        vocabulary = count_vocabulary(tokens, self.min_count, self.max_size, documents=split == 0)
        label = table["label"].to_numpy().astype(np.int32)
        by_phrase = self.attribute == "phrase"
        names = table["text"].to_pylist() if by_phrase else list(LABELS)
        attributes = np.arange(len(table), dtype=np.int32) if by_phrase else label
        columns = {"split": split, "label": label, **{c: table[c].to_numpy() for c in ("length", "root")}}
        meta = {"vocabulary": vocabulary.state(), "attributes": names}
        return EncodedCorpus(ids(tokens, vocabulary), tokens.offsets, attributes, columns, meta)

    def _part(self, split: str) -> pa.Table:
        """The phrases of a split: of train each text once, with the rounded mean of its labels."""
        table = read_trees(self.path, split)
        if self.sentences is not None:
            first = self.sentences if split == "train" else self.sentences // 4
            table = table.filter(pc.less(table["sentence"], first))
        table = table.select(["text", "label", "length", "root"])
        if split != "train" or self.roots:
            return table.filter(table["root"])
        kept = [("label", "mean"), ("length", "max"), ("root", "max")]
        once = table.group_by("text", use_threads=False).aggregate(kept)
        label = pc.cast(pc.round(once["label_mean"]), pa.int8())
        columns = [once["text"], label, once["length_max"], once["root_max"]]
        return pa.table(columns, names=table.column_names).cast(table.schema)
