"""A folder of text files: what a file is about stands in its path.

Columns: `folder`, the first folder on the way to the file; `file`, the path without its ending; and the named groups of
a regular expression that is looked for in the path, such as `(?P<author>[^/]+)/(?P<year>\\d{4})`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import pyarrow as pa

from atd.errors import AtdError
from datamodules.readers.columns import Source, check_columns
from datamodules.readers.files import Place
from datamodules.readers.streams import PACKED, encoding_of, open_text

USUAL = ("folder", "file")
SIZE = 1 << 23  # letters of a batch
PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")


def find_texts(root: Path, files: str) -> list[Path]:
    """The files under a folder whose path is like `files`, packed or not, by name; hidden ones are left out."""
    if not root.is_dir():
        raise AtdError(f"data.path={root}: no such folder; data=folder reads a folder of text files")
    found = {path for end in ("", *PACKED) for path in root.glob(files + end) if path.is_file()}
    found = {path for path in found if not any(part.startswith(".") for part in path.relative_to(root).parts)}
    if not found:
        raise AtdError(f"{root}: no file is like {files}; set data.files to a pattern such as **/*.md")
    return sorted(found)


class FolderReader:
    """Batches of Table(text, *columns), a row for every piece of a file.

    `piece` is `file` for whole files, `paragraph`, or a number of words that a piece has at least.
    """

    def __init__(self, root: Path, files: str, pattern: str | None, piece: int | str, columns: Sequence[str]):
        self.root = root
        self.files = files
        self.pattern = compiled(pattern)
        self.piece = piece
        self.columns = list(columns)
        self.sources: list[Source] = []
        check_columns(Place(root), self.columns, [*USUAL, *names_of(pattern)])

    def __iter__(self) -> Iterator[pa.Table]:
        self.sources = []
        rows: list[dict[str, str | None]] = []
        size = 0
        for path in find_texts(self.root, self.files):
            values = self.values(path)
            for text in self._texts(Place(path)):
                rows.append({**values, "text": text})
                size += len(text)
            if size > SIZE:
                yield self._table(rows)
                rows, size = [], 0
        if rows:
            yield self._table(rows)
        elif not any(source.rows for source in self.sources):
            raise AtdError(f"{self.root}: the files hold no text")

    def values(self, path: Path) -> dict[str, str | None]:
        """What the path of a file says."""
        name = path.relative_to(self.root).as_posix()
        for packed in PACKED:
            name = name.removesuffix(packed)
        folder = name.split("/")[0] if "/" in name else None
        found: dict[str, str | None] = {"folder": folder, "file": str(PurePosixPath(name).with_suffix(""))}
        if self.pattern is None:
            return found
        match = self.pattern.search(name)
        if match is None:
            fix = "mend it, or leave the file out by data.files"
            raise AtdError(f"{path}: data.pattern={self.pattern.pattern} does not fit {name!r}; {fix}")
        return found | match.groupdict()

    def _texts(self, place: Place) -> list[str]:
        source = Source(place, "text", encoding_of(place))
        with open_text(place, source.encoding) as stream:
            text = stream.read().replace("\r\n", "\n")
        texts = pieces(text, self.piece)
        source.rows = len(texts)
        self.sources.append(source)
        return texts

    def _table(self, rows: list[dict[str, str | None]]) -> pa.Table:
        return pa.table({name: pa.array([row[name] for row in rows], pa.string()) for name in ("text", *self.columns)})


def compiled(pattern: str | None) -> re.Pattern[str] | None:
    if pattern is None:
        return None
    try:
        found = re.compile(pattern)
    except re.error as error:
        raise AtdError(f"data.pattern={pattern}: not a regular expression ({error})") from None
    if not found.groupindex:
        raise AtdError(f"data.pattern={pattern}: names no column; a group that does is (?P<author>[^/]+)")
    return found


def names_of(pattern: str | None) -> list[str]:
    """The columns that a regular expression names."""
    found = compiled(pattern)
    return list(found.groupindex) if found else []


def pieces(text: str, piece: int | str) -> list[str]:
    """The text whole, by paragraphs, or cut into pieces of at least so many words; none if it has no words."""
    if piece == "file":
        return [text] if text.strip() else []
    paragraphs = [part for part in PARAGRAPH.split(text) if part.strip()]
    return paragraphs if isinstance(piece, str) else gathered(paragraphs, piece)


def gathered(paragraphs: list[str], words: int) -> list[str]:
    """Paragraphs together until they have enough words; a long one is cut, and a short rest joins the last piece."""
    parts = []
    for paragraph in paragraphs:
        tokens = paragraph.split()
        parts += [paragraph] if len(tokens) < 2 * words else cut(tokens, words)
    return blocks(parts, words)


def blocks(paragraphs: list[str], words: int) -> list[str]:
    """Whole paragraphs together until they have enough words; a short rest joins the last piece."""
    out: list[list[str]] = []
    size = words
    for paragraph in paragraphs:
        if size >= words:
            out.append([])
            size = 0
        out[-1].append(paragraph)
        size += len(paragraph.split())
    if len(out) > 1 and size < words / 2:
        rest = out.pop()
        out[-1] += rest
    return ["\n\n".join(piece) for piece in out]


def cut(tokens: list[str], words: int) -> list[str]:
    """Nearly equal runs of about so many words."""
    n = len(tokens) // words
    edges = [len(tokens) * i // n for i in range(n + 1)]
    return [" ".join(tokens[a:b]) for a, b in itertools.pairwise(edges)]
