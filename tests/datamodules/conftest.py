"""A tagger trained once for all tests that need one."""

from __future__ import annotations

from pathlib import Path

import pytest

from datamodules import sample

TINY = {"width": 32, "depth": 1, "rows": 500, "epochs": 2, "batch_words": 40, "learn_rate": 0.01, "sentences": 500}


@pytest.fixture(scope="session")
def tiny_recipe() -> dict:
    """Settings of a tagger that trains in seconds and gets 95 % of the sample right."""
    return TINY


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
