"""A folder of text files: the sub-folder a file lies in, or what its path says, is the attribute."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from atd.errors import AtdError
from atd.settings import TEXT, either, one_of, optional, whole
from datamodules.described import COLUMNS, Described
from datamodules.readers.folder import FolderReader, find_texts, names_of


class FolderCorpus(Described):
    """Files under `path` whose path is like `files`. A document is a `piece` of a file: a number of words, cut between
    paragraphs where that is possible, `paragraph`, or the whole `file`.

    Columns are `folder`, the first sub-folder; `file`; and the named groups of `pattern`, a regular expression that is
    looked for in the path: `(?P<author>[^/]+)/(?P<year>\\d{4})` makes author and year. Unless `attributes` or `formula`
    says otherwise, the groups are the attributes, or else the folder. `group=file` holds out whole files.
    """

    def __init__(
        self,
        *,
        files: str = "**/*.txt",
        pattern: Annotated[str | None, optional(TEXT)] = None,
        piece: Annotated[int | str, either(whole(1), one_of("paragraph", "file"))] = 200,
        attributes: Annotated[Sequence[str] | None, optional(COLUMNS)] = None,
        formula: str | None = None,
        **common: Any,
    ):
        if attributes is None and formula is None:
            attributes = names_of(pattern) or ["folder"]
        super().__init__(attributes=attributes, formula=formula, **common)
        self.files = files
        self.pattern = pattern
        self.piece = piece

    def inputs(self) -> list[Path]:
        found = find_texts(self.path, self.files)
        if "folder" in self.chosen and all(path.parent == self.path for path in found):
            fix = "use data.attributes=[file], or data.pattern for a part of the name"
            raise AtdError(f"{self.path}: has no sub-folders to be attributes; {fix}")
        return found

    def settings(self) -> dict[str, Any]:
        own = {"files": self.files, "pattern": self.pattern, "piece": self.piece}
        return super().settings() | own | {"path": str(self.path.resolve())}

    def reader(self, columns: list[str]) -> FolderReader:
        return FolderReader(self.path, self.files, self.pattern, self.piece, columns)
