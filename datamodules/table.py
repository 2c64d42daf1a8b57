"""A user's own table: a text and some attributes in every row."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa

from atd.errors import AtdError
from atd.settings import TEXT, optional
from datamodules.described import Described
from datamodules.readers.table import TableReader, find_tables, read_table
from datamodules.values import kept, numbers_of, repeats


class TableCorpus(Described):
    """A row is a document, and `text` the column of text; a row without any is an error, or left out with `drop_empty`.
    `path` is a file, a folder of them or a pattern such as posts-*.csv.

    `weights` is a column of numbers, how often a row counts in training: a row of 2.5 comes twice or, as often, three
    times. Rows held out all count once.

    `unknown` is another table with the same column of text: texts whose attributes are asked for (`unknown_texts`).
    """

    def __init__(
        self,
        *,
        text: str,
        weights: Annotated[str | None, optional(TEXT)] = None,
        drop_empty: bool = False,
        unknown: Annotated[str | None, optional(TEXT)] = None,
        **common: Any,
    ):
        super().__init__(**common)
        self.text = text
        self.weights = weights
        self.more = [weights] if weights else []
        self.drop_empty = drop_empty
        self.unknown = Path(unknown) if unknown else None

    def inputs(self) -> list[Path]:
        return find_tables(self.path)

    def settings(self) -> dict[str, Any]:
        own = {"text": self.text, "weights": self.weights, "drop_empty": self.drop_empty}
        return super().settings() | own

    def reader(self, columns: list[str]) -> TableReader:
        return TableReader(self.path, self.text, columns, self.drop_empty)

    def unknown_texts(self) -> list[str]:
        """The texts of the table `unknown`."""
        if self.unknown is None:
            return []
        if not self.unknown.exists():
            raise AtdError(f"data.unknown={self.unknown}: no such table; give a file that has a column {self.text!r}")
        return read_table(self.unknown, self.text, [], self.drop_empty)["text"].to_pylist()

    def times(self, table: pa.Table, split: np.ndarray, attributes: np.ndarray) -> np.ndarray:
        """By the weights; only rows to train on are weighted."""
        if self.weights is None:
            return super().times(table, split, attributes)
        weights = numbers_of(self.path, self.weights, table[self.weights].combine_chunks(), "data.weights")
        times = repeats(self.path, self.weights, weights, self.split_seed)
        return np.where(split == 0, kept(times, split == 0, attributes), 1)
