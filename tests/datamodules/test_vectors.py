"""GloVe is found where it is, unpacked from its release, and never asked for in a dimension it has not."""

from __future__ import annotations

import zipfile

import pytest

from atd.errors import AtdError
from datamodules import vectors
from datamodules.vectors import find_glove


def test_a_local_file_is_taken(tmp_path):
    (tmp_path / "vectors").mkdir()
    path = tmp_path / "vectors" / "glove.6B.100d.subset.txt.gz"
    path.write_bytes(b"x")
    assert find_glove(tmp_path, 100) == path


def test_the_release_is_fetched_and_unpacked_once(tmp_path, monkeypatch):
    asked = []

    def fetch(name, folder):
        asked.append(name)
        with zipfile.ZipFile(folder / "glove.6B.zip", "w") as release:
            release.writestr("glove.6B.50d.txt", "the 1 2\n")
        return folder / "glove.6B.zip"

    monkeypatch.setattr(vectors, "fetch", fetch)
    assert find_glove(tmp_path, 50).read_text() == "the 1 2\n"
    assert find_glove(tmp_path, 50).name == "glove.6B.50d.txt" and asked == ["glove-6b"]
    with pytest.raises(AtdError, match=r"no glove\.6B\.200d\.txt in it"):
        find_glove(tmp_path, 200)


def test_other_dimensions_are_refused_before_any_download(tmp_path):
    with pytest.raises(AtdError, match=r"model\.K=64: GloVe has vectors of dimension 50, 100, 200, 300"):
        find_glove(tmp_path, 64)
