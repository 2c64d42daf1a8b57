"""Vectors in every format, whole and damaged."""

from __future__ import annotations

import gzip
import struct

import pytest
import torch

from atd.errors import AtdError
from atd.pretrained import read_vectors
from atd.vocabulary import Vocabulary

WORDS = {"the": [1.0, 2.0, 3.0], "cat": [-1.0, 0.5, 0.25], "Paris": [0.0, 0.0, 1.0]}
VOCABULARY = Vocabulary.from_counts({"the": 5, "cat": 3, "dog": 2})


def text(rows):
    return "".join(f"{w} {' '.join(map(str, v))}\n" for w, v in rows.items()).encode()


def binary(rows):
    body = b"".join(w.encode() + b" " + struct.pack("<3f", *v) + b"\n" for w, v in rows.items())
    return f"{len(rows)} 3\n".encode() + body


FORMATS = {
    "glove.txt": text(WORDS),
    "glove.txt.gz": gzip.compress(text(WORDS)),
    "word2vec.txt": f"{len(WORDS)} 3\n".encode() + text(WORDS),
    "word2vec.bin": binary(WORDS),
    "word2vec.bin.gz": gzip.compress(binary(WORDS)),
    "turian.txt": text({"*UNKNOWN*": [9.0, 9.0, 9.0], **WORDS}),
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_vectors(tmp_path, name):
    (tmp_path / name).write_bytes(FORMATS[name])
    vectors, share = read_vectors(tmp_path / name, VOCABULARY)
    assert vectors.shape == (len(VOCABULARY), 3)
    for word in ("the", "cat"):
        torch.testing.assert_close(vectors[VOCABULARY.index[word]], torch.tensor(WORDS[word]))
    assert share == pytest.approx(8 / 10)
    unknown = [9.0, 9.0, 9.0] if name == "turian.txt" else [0.0, 1.25, 1.625]
    torch.testing.assert_close(vectors[VOCABULARY.index["dog"]], torch.tensor(unknown))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b"the 1 2 3\ncat 1 2\n", ":2: expected a word and 3 numbers"),
        (b"the 1 2 3\ncat 1 x 3\n", ":2: expected a word and 3 numbers"),
        (b"xyzzy 1 2 3\n", "none of the 6 vocabulary words"),
        (binary(WORDS)[:-3], "middle of a vector"),
    ],
)
def test_damaged_files_are_named(tmp_path, content, says):
    path = tmp_path / "vectors"
    path.write_bytes(content)
    with pytest.raises(AtdError, match=says) as error:
        read_vectors(path, VOCABULARY)
    assert str(path) in str(error.value)


def test_missing_and_truncated_gzip(tmp_path):
    with pytest.raises(AtdError, match="no such file"):
        read_vectors(tmp_path / "nowhere", VOCABULARY)
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(text(WORDS) * 100)[:-20])
    with pytest.raises(AtdError, match="fetch the file anew"):
        read_vectors(cut, VOCABULARY)
