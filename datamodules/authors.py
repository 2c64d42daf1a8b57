"""Texts by known authors, and perhaps some by unknown ones: who wrote it?"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated, Any

from atd.errors import AtdError
from atd.settings import TEXT, optional
from datamodules.corpus import sample_folder
from datamodules.table import TableCorpus


class Authors(TableCorpus):
    """A table whose attribute is the author. `sample`: letters of our own making, some of them disputed.

    `twins` is a file of tab-separated columns, the first two of them names of authors: one person under two names, or
    two people with texts in common. Nobody can tell twins apart, so scores are given without them, too.
    """

    def __init__(self, *, twins: Annotated[str | None, optional(TEXT)] = None, sample: bool = False, **common: Any):
        super().__init__(**common)
        self.twins = Path(twins) if twins else None
        folder = sample_folder(self.cache) / "letters" if sample else None
        self.path = folder / "letters.csv" if folder else self.path
        self.unknown = folder / "disputed.csv" if folder else self.unknown

    def twin_names(self) -> set[str]:
        """The authors who have a twin."""
        if self.twins is None:
            return set()
        try:
            with self.twins.open(encoding="utf-8", newline="") as file:
                _, *rows = [row[:2] for row in csv.reader(file, delimiter="\t") if row]
        except (OSError, UnicodeDecodeError, csv.Error, ValueError):
            raise AtdError(f"data.twins={self.twins}: cannot be read; give a header and two names a line") from None
        if any(len(row) < 2 for row in rows):
            raise AtdError(f"data.twins={self.twins}: a line has fewer than two names, separated by a tab")
        return {name for row in rows for name in row}
