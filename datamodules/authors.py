"""Texts by known authors, and perhaps some by unknown ones: who wrote it?"""

from __future__ import annotations

from typing import Any

from datamodules.corpus import sample_folder
from datamodules.table import TableCorpus


class Authors(TableCorpus):
    """A table whose attribute is the author. `sample`: letters of our own making, some of them disputed."""

    def __init__(self, *, sample: bool = False, **common: Any):
        super().__init__(**common)
        folder = sample_folder(self.cache) / "letters" if sample else None
        self.path = folder / "letters.csv" if folder else self.path
        self.unknown = folder / "disputed.csv" if folder else self.unknown
