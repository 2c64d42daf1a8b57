"""Small corpora of our own, written on demand in the formats of the real ones, with structure one can check.

Every text is generated from hand-written lexicons by seeded choice, byte for byte the same on every machine.
The ordinary readers read the files. What was planted, and should be found again by a model, is told by
`similar_books`, `polysemous_words` and `translations`.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from atd.errors import AtdError
from datamodules.sample import blogs, books, graphs, letters, news, parallel, reviewers, tagged, trees, world
from datamodules.sample.lexicon import Lexicon
from datamodules.sample.translation import translations

__all__ = ["PARTS", "book_groups", "polysemous_words", "similar_books", "translations", "version", "write"]

PARTS: dict[str, Callable[[Path, int], None]] = {
    "gutenberg": books.write,
    "sst": trees.write,
    "europarl": parallel.write_europarl,
    "monolingual": parallel.write_monolingual,
    "sib200": parallel.write_topics,
    "reuters": news.write,
    "blogs": blogs.write,
    "letters": letters.write,
    "graphs": graphs.write,
    "reviewers": reviewers.write,
    "pos": tagged.write,
    "world": world.write,
}
STAMP = ".sample"
POLYSEMOUS = ("light", "bank", "spirit", "watch", "match", "bear", "ball", "port", "sound", "court", "crown", "host",
              "case", "company")  # fmt: skip


def _version() -> str:
    here, digest = Path(__file__).parent, hashlib.sha256()
    for path in sorted([*here.glob("*.py"), *here.glob("lexicon/*.txt")]):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


version = _version()
"""Changes with any source of this package, so that it can name a cache."""


def write(root: Path | str, seed: int = 0, parts: Iterable[str] | None = None) -> Path:
    """Write `parts` (default: all) under the new folder `root`; a folder already holding just that is kept.

    The folder appears complete or not at all, and two processes may write the same one.
    """
    root, chosen = Path(root), sorted(set(PARTS if parts is None else parts))
    if unknown := [part for part in chosen if part not in PARTS]:
        raise AtdError(f"no sample corpus {unknown[0]!r}; there are {', '.join(PARTS)}")
    stamp = f"{version} seed={seed} {' '.join(chosen)}\n"
    foreign = AtdError(f"{root} exists and holds something else; remove it or name a new folder")
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        if _is_complete(root, stamp):  # asked last: another process may just have written it
            return root
        raise foreign
    root.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{root.name}-", dir=root.parent))
    try:
        fresh.chmod(0o755)
        for part in chosen:
            PARTS[part](fresh, seed)
        (fresh / STAMP).write_text(stamp)
        try:
            fresh.rename(root)  # fails on a folder that meanwhile holds anything
        except OSError:
            if not _is_complete(root, stamp):
                raise foreign from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return root


def _is_complete(root: Path, stamp: str) -> bool:
    return (root / STAMP).is_file() and (root / STAMP).read_text() == stamp


def similar_books() -> list[tuple[str, str]]:
    """Pairs of books (file stems) by one author."""
    names: dict[str, list[str]] = {}
    for book in books.BOOKS:
        names.setdefault(book.group, []).append(book.name)
    return [(first, second) for first, second in names.values()]


def book_groups() -> dict[str, str]:
    """File stem of a book → its group, the kind of book it is."""
    return {book.name: book.group for book in books.BOOKS}


def polysemous_words() -> dict[str, dict[str, set[str]]]:
    """Word → {group of books: the words it keeps company with there}, for words of different classes by group.

    Company means the same class of the group's lexicon: the same verbs, adjectives and places go with them.
    """
    company: dict[str, dict[str, set[str]]] = {word: {} for word in POLYSEMOUS}
    for group in dict.fromkeys(book_groups().values()):
        lexicon = Lexicon("common", group)
        classes = [[noun.one[0] for noun in nouns] for name, nouns in lexicon.nouns.items() if name != "place"]
        classes += [[verb.b[0][0] for verb in verbs] for verbs in lexicon.verbs.values()]
        for words in classes:
            for word in company.keys() & set(words):
                company[word][group] = set(words) - {word}
    return company
