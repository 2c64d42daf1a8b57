"""Vectors in every format, whole and damaged."""

from __future__ import annotations

import gzip
import struct

import pyarrow as pa
import pytest
import torch

from atd.errors import AtdError
from atd.pretrained import read_vectors
from atd.vocabulary import Vocabulary
from tests.faults.limits import outcomes

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
        (b"3 999999999999\n" + text(WORDS), "speaks of vectors of 999999999 numbers"),
        (b"3 999999999999\n" + binary(WORDS)[4:], "speaks of vectors of 999999999 numbers"),
        (b"3 " + b"9" * 5000 + b"\n" + text(WORDS), "speaks of vectors of 999999999 numbers"),
        (b"3 0\n" + text(WORDS), "speaks of vectors of 0 numbers"),
        (b"the\ncat\n", "speaks of vectors of 0 numbers"),
        (b"the 1 2 3\ncat 1 nan 3\n", ":2: expected a word and 3 numbers"),
        (b"the 1 2 3\ncat 1 -inf 3\n", ":2: expected a word and 3 numbers"),
        (binary({"the": [1.0, float("nan"), 0.0]}), "the vector of 'the' is not of numbers"),
        (b"3 3\n" + b"x" * 50_000, "no word ends for 10000 bytes"),
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


def arrow(path, rows, **columns):
    table = pa.table({"name": list(rows), "vector": pa.array(list(rows.values()), columns.get("type"))})
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)
    return path


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ({"the": [1.0, float("nan")], "cat": [0.0, 1.0]}, "the vector of 'the' is not of numbers"),
        ({"the": [], "cat": []}, "holds no vectors"),
        ({"the": [1.0, 2.0], "cat": [1.0], "dog": [1.0, 2.0, 3.0]}, "not of one length"),
        ({"the": [1.0, 2.0], "cat": None, "dog": None, "a": [1.0, 2.0]}, "some are missing"),
    ],
)
def test_tables_of_vectors_hold_numbers(tmp_path, rows, says):
    path = arrow(tmp_path / "v.arrow", rows, type=pa.list_(pa.float32()))
    with pytest.raises(AtdError, match=says) as error:
        read_vectors(path, VOCABULARY)
    assert str(path) in str(error.value)


def test_a_table_of_vectors_that_points_outside_itself(tmp_path):
    """In a child: to touch what it points to ends the process."""
    path = arrow(tmp_path / "v.arrow", {"the": [1.0, 2.0], "cat": [3.0, 4.0]})
    good, bad = struct.pack("<3i", 0, 3, 6), struct.pack("<3i", 0, 3, 2**31 - 1)
    assert good in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(good, bad))
    (found,) = outcomes(lambda case: read_vectors(path, VOCABULARY), [0], "v.arrow")
    assert found.kind == "refused" and "not readable" in found.what
