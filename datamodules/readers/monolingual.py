"""Text in one language, a sentence per line: `monolingual/<lang>.txt` in the data folder, plain or gzip."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from datamodules.readers.files import Place, has_text, require

FOLDER = "monolingual"


def find_monolingual(data_dir: str | Path, lang: str) -> Place:
    """Where the text of a language is."""
    return require(f"{lang} text", Path(data_dir), Path(data_dir) / FOLDER / f"{lang}.txt")


def read_monolingual(data_dir: str | Path, lang: str) -> pa.Table:
    """Table(text), one row per line that is not blank."""
    lines = find_monolingual(data_dir, lang).lines()
    return pa.table({"text": lines.filter(has_text(lines))})
