"""Bibles by verse: a parallel text in dozens of languages, joined on the verse id.

Accepted under the data folder: `parallel/bible/<lang>.tsv` (whole Bibles) and `parallel/bible_nt/<lang>.tsv`
(New Testaments), plain or gzip: verse id (OSIS, e.g. Gen.1.1), tab, text; no header. A whole Bible goes
before a New Testament in the same language.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from atd.errors import AtdError
from datamodules.readers.files import Place, find

FOLDERS = ("parallel/bible", "parallel/bible_nt")


def languages(data_dir: str | Path) -> list[str]:
    """Languages with a Bible or a New Testament, by code."""
    files = (p for folder in FOLDERS for p in (Path(data_dir) / folder).glob("*.tsv*"))
    return sorted({p.name.split(".")[0] for p in files if p.name.endswith((".tsv", ".tsv.gz"))})


def find_bible(data_dir: str | Path, lang: str) -> Place:
    """Where the text of a language is."""
    place = find(*(Path(data_dir) / folder / f"{lang}.tsv" for folder in FOLDERS))
    if place is None:
        known = " ".join(languages(data_dir)) or "none"
        raise AtdError(f"{Path(data_dir) / FOLDERS[0] / lang}.tsv: no Bible in {lang!r} (there: {known})")
    return place


def read_bible(data_dir: str | Path, lang: str) -> pa.Table:
    """Table(verse, text) in the order of the file."""
    return find_bible(data_dir, lang).fields(["verse", "text"], header=False)


def read_verse_pairs(data_dir: str | Path, pair: str) -> pa.Table:
    """Table(verse, source, target): verses in both languages of `pair` (`en-cs`), ordered as in the first."""
    first, second = pair.split("-")
    source, target = (read_bible(data_dir, lang) for lang in (first, second))
    position = {verse: i for i, verse in enumerate(target["verse"].to_pylist())}
    rows = [(i, position[v]) for i, v in enumerate(source["verse"].to_pylist()) if v in position]
    left, right = zip(*rows, strict=True) if rows else ((), ())
    source, target = source.take(pa.array(left, pa.int64())), target.take(pa.array(right, pa.int64()))
    return pa.table({"verse": source["verse"], "source": source["text"], "target": target["text"]})
