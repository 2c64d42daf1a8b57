"""Files become documents, and their paths attributes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atd.errors import AtdError
from datamodules.folder import FolderCorpus
from datamodules.readers.folder import pieces

AUTHORS = ("ann", "bob")


@pytest.fixture
def root(tmp_path) -> Path:
    """Two authors, three letters each, one of every encoding."""
    for author in AUTHORS:
        (tmp_path / "letters" / author).mkdir(parents=True)
        for year, encoding in ((1801, "utf-8"), (1802, "utf-16"), (1803, "cp1252")):
            lines = [f"déjà {author} {year} line{i} with some more words" for i in range(10)]
            (tmp_path / "letters" / author / f"{year}.txt").write_text("\n\n".join(lines), encoding=encoding)
    (tmp_path / "letters" / "readme.md").write_text("no letter")
    return tmp_path / "letters"


def corpus(root: Path, **options) -> FolderCorpus:
    common = {"name": "folder", "path": root, "context": 2, "batch_size": 32, "seed": 0, "cache": root.parent / "cache"}
    data = FolderCorpus(**common | {"piece": "paragraph", "min_count": 1} | options)
    data.prepare_data()
    data.setup()
    return data


def documents(data: FolderCorpus) -> list[tuple[str, str, str]]:
    """(split, text, attribute) of every document that has one attribute."""
    return [
        (name, " ".join(data.vocabulary.decode(part[d])), data.attributes[part.attributes[d]])
        for name, part in data.encoded.items()
        for d in range(len(part))
    ]


def test_the_sub_folder_is_the_attribute(root):
    data = corpus(root)
    found = documents(data)
    assert data.attributes == list(AUTHORS) and len(found) == 60
    assert [len(part) for part in data.encoded.values()] == [48, 6, 6]
    for split, text, author in found:
        assert split != "train" or text.startswith(f"déjà {author} <#>")


def test_named_groups_are_columns(root):
    data = corpus(root, pattern=r"(?P<author>[^/]+)/(?P<year>\d+)", continuous={"year": 2})
    assert data.attributes == ["author=ann", "author=bob", "year=1801", "year=1803"]
    data = corpus(root, pattern=r"(?P<author>[^/]+)/(?P<year>\d+)", formula="author:year")
    assert len(data.attributes) == 6 and "ann/1801" in data.attributes


def test_whole_files_can_be_held_out(root):
    data = corpus(root, group="file", attributes=["folder"], holdout=0.15)
    for name, part in data.encoded.items():
        assert len(part) % 10 == 0, name  # a file has ten paragraphs


@pytest.mark.parametrize(("piece", "n"), [("file", 6), ("paragraph", 60), (8, 60), (16, 30), (1000, 6)])
def test_a_document_is_a_piece_of_a_file(root, piece, n):
    from datamodules.readers.folder import FolderReader

    reader = FolderReader(root, "**/*.txt", None, piece, ["file"])
    assert sum(map(len, reader)) == n == sum(source.rows for source in reader.sources)
    assert {source.encoding for source in reader.sources} == {"utf-8", "utf-16", "cp1252"}


@given(st.lists(st.integers(1, 40), min_size=1, max_size=20), st.integers(1, 15))
def test_pieces_hold_every_word_in_order(lengths, words):
    paragraphs = [" ".join(f"p{i}w{j}" for j in range(n)) for i, n in enumerate(lengths)]
    text = "\n\n".join(paragraphs)
    found = pieces(text, words)
    assert " ".join(found).split() == text.split()
    sizes = [len(piece.split()) for piece in found]
    assert len(found) == 1 or min(sizes) >= words / 2
    assert max(sizes) < 3.5 * words + 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": Path("nowhere")}, "nowhere: no such folder"),
        ({"files": "*.doc"}, r"no file is like \*.doc; set data.files"),
        ({"pattern": "(author"}, "not a regular expression"),
        ({"pattern": "author"}, "names no column"),
        ({"pattern": r"(?P<year>\d{5})"}, r"1801.txt: data.pattern=.* does not fit 'ann/1801.txt'"),
        ({"attributes": ["fold"]}, "no column 'fold'; the columns are folder, file"),
        ({"files": "ann/*.txt", "path": "ann"}, "has no sub-folders to be attributes; use"),
    ],
)
def test_mistakes_are_one_line(root, options, message):
    if options.get("path") == "ann":
        options = {"path": root / "ann", "files": "*.txt"}
    with pytest.raises(AtdError, match=message) as error:
        corpus(root, **options)
    assert "\n" not in str(error.value)
