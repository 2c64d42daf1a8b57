"""A tagger trained once for all tests that need one, and a treebank small enough to check by eye."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from datamodules import sample
from datamodules.treebank import Treebank

TINY = {"width": 32, "depth": 1, "rows": 500, "epochs": 2, "batch_words": 40, "learn_rate": 0.01, "sentences": 500}


@pytest.fixture(scope="session")
def tiny_recipe() -> dict:
    """Settings of a tagger that trains in seconds and gets 95 % of the sample right."""
    return TINY


@pytest.fixture(scope="session")
def root(tmp_path_factory) -> Path:
    """All embedded corpora, as written on first use."""
    return sample.write(tmp_path_factory.mktemp("sample") / "corpora")


@pytest.fixture(scope="session")
def tagged_books(tmp_path_factory) -> Path:
    """A data folder with tagged text and the beginnings of two sample books."""
    folder = sample.write(tmp_path_factory.mktemp("sample") / "corpora", parts=["gutenberg", "pos"])
    first, second, *rest = sorted((folder / "gutenberg").iterdir())
    for book in rest:
        book.unlink()
    for book in (first, second):
        book.write_text("\n".join(book.read_text().split("\n")[:500]))
    return folder


@pytest.fixture(scope="session")
def tagger_cache(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("tagger")


TREES = {
    "train": "(3 (2 It) (4 (2 's) (4 Great)))\n(1 (1 (1 Bad) (2 film)) (2 .))\n(3 great)\n",
    "dev": "(4 (4 (2 wonderful) (2 zzz)) (2 .))\n(0 bad)\n",
    "test": "(0 bad)\n(4 (4 (2 wonderful) (2 8)) (2 .))\n",
}
VECTORS = "great 1 0\nbad -1 0\nfilm 0 1\nwonderful 1 1\n. 0 0.5\n8 1 2\n"


@pytest.fixture
def open_treebank(tmp_path) -> Callable[..., Treebank]:
    """A function that opens a treebank small enough to check by eye, or another, with the settings it is given."""
    (tmp_path / "sst").mkdir()
    for split, trees in TREES.items():
        (tmp_path / "sst" / f"{split}.txt").write_text(trees)
    (tmp_path / "vectors.txt").write_text(VECTORS)
    common = {"name": "treebank", "path": tmp_path, "context": 3, "batch_size": 64, "seed": 0}
    tokeniser = {"kind": "whitespace", "lowercase": True, "numbers": False}

    def opened(**settings) -> Treebank:
        data = Treebank(**{**common, "cache": tmp_path / "cache", "tokeniser": tokeniser, **settings})
        data.prepare_data()
        data.setup()
        return data

    return opened
