"""Books as plain text: NLTK's Gutenberg selection, or any folder of .txt files, cut into chapters.

Accepted under the data folder: `gutenberg/*.txt`, `gutenberg.zip` (NLTK's archive), or the same two inside
`corpora/` (an nltk_data folder). A chapter starts at a heading; what is longer than `MAX_WORDS` (a tale
without chapters, a book of the Bible, a play printed without scenes) is cut into even blocks at paragraph
ends, so that whole pieces can be held out.
"""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa

from datamodules.readers.files import Place, check_text, missing, walk

MIN_WORDS, MAX_WORDS = 50, 5000  # shorter pieces join the next one, longer ones are cut
SCHEMA = pa.schema({"book": pa.string(), "chapter": pa.int32(), "title": pa.string(), "text": pa.string()})

_BLANK = re.compile(r"\n(?:[ \t]*\n)+")
_VERSE = re.compile(r"\d+:\d+ ")
_HEADING = re.compile(
    r"""\[?(?i:chapter|book|volume|part|act|scene|canto)\s+(?:[IVXLC]+|\d+)\b.*  # CHAPTER I. The Pool
      | (?:Actus|Scoena|Scena)\s\w+.*                                            # Actus Primus. Scoena Prima.
      | (?:[IVXLC]+|\d+)\.?                                                      # IV
      | [IVXLC]+\.\s.*                                                           # II. The Paradise of Thieves
      | [^a-z"]*[A-Z]{3}[^a-z"]*                                                 # THE LITTLE RED HEN
    """,
    re.VERBOSE | re.DOTALL,
)


def read_books(data_dir: str | Path) -> pa.Table:
    """Table(book, chapter, title, text): books by name, chapters as read; a blank line ends a paragraph."""
    data_dir = Path(data_dir)
    rows: dict[str, list] = {name: [] for name in SCHEMA.names}
    for place, data in walk(find_books(data_dir), ".txt"):
        book = place.name.removesuffix(".txt")
        found = chapters(_decode(data, place))
        if not found:
            raise place.error("the file holds no text; fetch it again or remove it")
        for i, (title, text) in enumerate(found):
            for name, value in zip(SCHEMA.names, (book, i, title, text), strict=True):
                rows[name].append(value)
    if not rows["book"]:
        raise missing("books (*.txt)", data_dir, *_candidates(data_dir))
    return pa.table(rows, SCHEMA)


def find_books(data_dir: str | Path) -> Path:
    """The folder or archive that holds the books."""
    data_dir = Path(data_dir)
    for path in _candidates(data_dir):
        if path.exists():
            return path
    raise missing("Gutenberg books", data_dir, *_candidates(data_dir))


def chapters(text: str) -> list[tuple[str, str]]:
    """(title, text) of each chapter or block of one book; the words and their order are those of the book."""
    paragraphs = [p.strip("\n") for p in _BLANK.split(text.replace("\r\n", "\n").strip()) if p.strip()]
    if paragraphs and re.fullmatch(
        r"\[.*\]\s*", paragraphs[0]
    ):  # NLTK's own title line, e.g. [Emma by Jane Austen 1816]
        paragraphs = paragraphs[1:]
    verses = sum(map(bool, map(_VERSE.match, paragraphs))) > len(paragraphs) / 2
    heading = _is_book_of_verses if verses else _is_heading

    pieces: list[tuple[list[str], list[str]]] = []  # (headings, paragraphs)
    for paragraph in paragraphs:
        if heading(paragraph):
            if pieces and _words(pieces[-1][1]) < MIN_WORDS:
                pieces[-1][0].append(paragraph)
            else:
                pieces.append(([paragraph], []))
        elif not pieces:
            pieces.append(([], []))
        pieces[-1][1].append(paragraph)
    if len(pieces) > 1 and _words(pieces[-1][1]) < MIN_WORDS:  # FINIS
        pieces[-2][1].extend(pieces.pop()[1])
    return [(" ".join(" ".join(titles).split()), block) for titles, body in pieces for block in _blocks(body)]


def _blocks(paragraphs: list[str]) -> list[str]:
    """One text, or several of nearly even length and at most about MAX_WORDS, each of whole paragraphs."""
    sizes = [len(p.split()) for p in paragraphs]
    total = max(1, sum(sizes))
    n = -(-total // MAX_WORDS)
    blocks: list[list[str]] = [[] for _ in range(n)]
    seen = 0
    for paragraph, size in zip(paragraphs, sizes, strict=True):
        blocks[min(n - 1, seen * n // total)].append(paragraph)
        seen += size
    return ["\n\n".join(block) for block in blocks if block]


def _is_heading(paragraph: str) -> bool:
    return len(paragraph) < 100 and paragraph.count("\n") < 2 and bool(_HEADING.fullmatch(paragraph.strip()))


def _is_book_of_verses(paragraph: str) -> bool:
    """Among numbered verses any other line that is no sentence names a book: `The Book of Joshua`."""
    return "\n" not in paragraph and not _VERSE.match(paragraph) and paragraph.rstrip()[-1] not in ".,;?!"


def _words(paragraphs: list[str]) -> int:
    return sum(len(p.split()) for p in paragraphs)


def _decode(data: bytes, place: Place) -> str:
    """UTF-8, else Latin-1: NLTK's Caesar spells Cæsar in one byte."""
    check_text(data, place)
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _candidates(data_dir: Path) -> list[Path]:
    return [data_dir / folder / name for folder in ("", "corpora") for name in ("gutenberg", "gutenberg.zip")]
