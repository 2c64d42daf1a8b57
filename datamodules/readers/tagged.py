"""Text with a part of speech on every word: Penn `word/TAG` lines, or Universal Dependencies CoNLL-U.

Accepted under the data folder: `pos/*<split>*` ending in `.conllu`, or in `.txt` for lines of `word/TAG`,
plain or gzip, e.g. `pos/ewt_train.txt.gz` or `pos/en_ewt-ud-train.conllu`. All files of a split are read.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from datamodules.readers.files import Place, missing

FOLDER = "pos"
SCHEMA = pa.schema({"words": pa.list_(pa.string()), "tags": pa.list_(pa.string())})
COLUMNS = {"xpos": 4, "upos": 3}  # of CoNLL-U: Penn tags in English treebanks, universal tags


def find_tagged(data_dir: str | Path, split: str) -> list[Place]:
    """The files of a split."""
    folder = Path(data_dir) / FOLDER
    names = [f"*{split}*.txt", f"*{split}*.conllu"]
    paths = {p for name in names for end in ("", ".gz") for p in folder.glob(name + end)}
    if not paths:
        raise missing(f"tagged text ({split})", Path(data_dir), *(folder / name for name in names))
    return [Place(p) for p in sorted(paths)]


def read_tagged(data_dir: str | Path, split: str, tag: str = "xpos") -> pa.Table:
    """Table(words, tags), one row per sentence, two lists of equal length."""
    return pa.concat_tables([read_tagged_file(place, tag) for place in find_tagged(data_dir, split)])


def read_tagged_file(place: Place, tag: str = "xpos") -> pa.Table:
    """One file; `tag` chooses the column of a CoNLL-U file."""
    conllu = place.name.endswith(".conllu")
    sentences = _conllu(place, COLUMNS[tag]) if conllu else _slashed(place)
    words, tags = [w for w, _ in sentences], [t for _, t in sentences]
    return pa.table({"words": words, "tags": tags}, SCHEMA)


def _slashed(place: Place) -> list[tuple[list[str], list[str]]]:
    """`1\\/2/CD`: the last slash parts word and tag; the word's own slashes are left as they are."""
    sentences = []
    for number, line in enumerate(place.text().split("\n"), 1):
        parts = [token.rpartition("/") for token in line.split(" ") if token]
        for word, _, tag in parts:
            if not word or not tag:
                raise place.error(f"{word + tag!r} is not of the form word/TAG", number)
        if parts:
            sentences.append(([word for word, _, _ in parts], [tag for _, _, tag in parts]))
    return sentences


def _conllu(place: Place, column: int) -> list[tuple[list[str], list[str]]]:
    """Word lines only: comments, multiword ranges (`3-4`) and empty nodes (`8.1`) are no words."""
    sentences: list[tuple[list[str], list[str]]] = []
    words: list[str] = []
    tags: list[str] = []
    for number, line in enumerate([*place.text().split("\n"), ""], 1):
        if not line.strip():
            if words:
                sentences.append((words, tags))
                words, tags = [], []
        elif not line.startswith("#"):
            fields = line.split("\t")
            if len(fields) != 10:
                raise place.error(f"{len(fields)} fields between tabs; a CoNLL-U word has 10", number)
            if fields[0].isdigit():
                words.append(fields[1].replace(" ", "_"))
                tags.append(fields[column])
    return sentences
