"""Documents with one topic each, in many languages, whatever they come from: Table(id, text, category).

- `reuters`: RCV1/RCV2 news stories, four categories, the user's own copy (see reuters.py). The release has no
  splits; ours are made by a hash of the document's id, so they do not depend on file order.
- `sib200`: `crosslingual/sib200/<lang>.<split>.tsv` with header index_id, category, text: sentences, seven
  categories, the same items in every language.
- `taxi1500`: `crosslingual/taxi1500/labels.<split>.tsv` (verse id, label, no header): verses of the Bible in
  that language, six categories.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa

from atd.errors import AtdError
from datamodules.readers.bible import find_bible, read_bible
from datamodules.readers.files import require

SOURCES = ("reuters", "sib200", "taxi1500")
SPLITS = ("train", "dev", "test")
REUTERS_TEST, REUTERS_DEV = 5000, 1000  # documents; the test size of Klementiev et al. 2012


def read_topics(data_dir: str | Path, source: str, lang: str, split: str) -> pa.Table:
    """Table(id, text, category), all strings, in a fixed order."""
    if source not in SOURCES:
        raise AtdError(f"topic source {source!r} does not exist; choose one of {', '.join(SOURCES)}")
    if split not in SPLITS:
        raise AtdError(f"split {split!r} does not exist; choose one of {', '.join(SPLITS)}")
    reader = {"reuters": _read_reuters, "sib200": read_sib200, "taxi1500": read_taxi1500}[source]
    return reader(Path(data_dir), lang, split)


def read_sib200(data_dir: str | Path, lang: str, split: str) -> pa.Table:
    folder = Path(data_dir) / "crosslingual" / "sib200"
    place = require(f"SIB-200 topics in {lang} ({split})", Path(data_dir), folder / f"{lang}.{split}.tsv")
    table = place.fields(["index_id", "text", "category"], header=True)
    return table.rename_columns(["id", "text", "category"])


def read_taxi1500(data_dir: str | Path, lang: str, split: str) -> pa.Table:
    """Verses missing from the language's Bible are left out; none at all is an error."""
    folder = Path(data_dir) / "crosslingual" / "taxi1500"
    place = require(f"Taxi1500 labels ({split})", Path(data_dir), folder / f"labels.{split}.tsv")
    labels = place.fields(["id", "category"], header=False)
    bible = read_bible(data_dir, lang)
    text = dict(zip(bible["verse"].to_pylist(), bible["text"].to_pylist(), strict=True))
    pairs = zip(labels["id"].to_pylist(), labels["category"].to_pylist(), strict=True)
    rows = [(verse, text[verse], category) for verse, category in pairs if verse in text]
    if not rows:
        raise AtdError(f"{place}: none of its {len(labels)} verses is in {find_bible(data_dir, lang)}")
    return pa.table(dict(zip(("id", "text", "category"), map(list, zip(*rows, strict=True)), strict=True)))


def _read_reuters(data_dir: Path, lang: str, split: str) -> pa.Table:
    from datamodules.readers.reuters import read_reuters

    return split_documents(read_reuters(data_dir, lang), split).select(["id", "text", "category"])


def split_documents(table: pa.Table, split: str) -> pa.Table:
    """One split: in the order of a hash of the id, test comes first, then dev, the rest is train."""
    ids = table["id"].to_pylist()
    order = np.array(sorted(range(len(ids)), key=lambda i: (zlib.crc32(ids[i].encode()), ids[i])), np.int64)
    test = min(REUTERS_TEST, len(ids) // 3)
    dev = test + min(REUTERS_DEV, len(ids) // 10)
    return table.take(pa.array({"test": order[:test], "dev": order[test:dev], "train": order[dev:]}[split]))
