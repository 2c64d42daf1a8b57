"""Where public corpora come from, and what a user must bring."""

from __future__ import annotations

import pytest

from atd.errors import AtdError
from datamodules.download import OWN_COPY, SOURCES, Source, fetch


def test_the_table_of_sources():
    assert {"treebank", "gutenberg", "glove-6b"} <= set(SOURCES)
    assert {f"europarl-{lang}-en" for lang in ("de", "fr", "cs", "sk")} <= set(SOURCES)
    for source in SOURCES.values():
        assert source.url.startswith("https://")
        assert source.file.endswith((".zip", ".tgz"))
        assert source.sha256 is None or len(bytes.fromhex(source.sha256)) == 32


@pytest.mark.parametrize(("name", "parts"), [("blogs", ["Kaggle", "blogs.zip"]), ("reuters", ["NIST", "reuters/"])])
def test_what_the_user_must_bring_is_said(tmp_path, name, parts):
    assert name in OWN_COPY
    with pytest.raises(AtdError) as caught:
        fetch(name, tmp_path)
    assert all(part in str(caught.value) for part in [*parts, str(tmp_path)])


def test_unknown_names_and_schemes(tmp_path):
    with pytest.raises(AtdError, match="no source called 'glove'; there are treebank"):
        fetch("glove", tmp_path)
    with pytest.raises(AtdError, match="not an http"):
        fetch(Source("file:///etc/passwd"), tmp_path)
