"""Some documents of a corpus are a corpus: the same tokens, attributes and columns, a view where it can be."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from atd.encoded import EncodedCorpus
from atd.ragged import offsets_of
from atd.vocabulary import Vocabulary

LENGTHS = [3, 0, 5, 1, 4, 2, 7, 0]
N = sum(LENGTHS)
KINDS = ("one", "several", "per_token")


def corpus(kind: str = "one") -> EncodedCorpus:
    """Eight documents whose tokens all differ; two of them are empty."""
    shape = {"one": len(LENGTHS), "several": (len(LENGTHS), 3), "per_token": N}[kind]
    names = [f"t{i}" for i in range(len(LENGTHS))]
    return EncodedCorpus(
        tokens=np.arange(10, 10 + N, dtype=np.int32),
        offsets=offsets_of(LENGTHS),
        attributes=np.arange(np.prod(shape), dtype=np.int32).reshape(shape),
        columns={
            "number": np.arange(len(LENGTHS)) ** 2,
            "name": pa.array(names),
            "kind": pa.array([*names[:3], *names[:5]]).dictionary_encode(),
            "chunked": pa.chunked_array([names[:3], names[3:]]),
            "gone": pa.array([None, 1] * (len(LENGTHS) // 2)),
        },
        meta={"vocabulary": Vocabulary.from_counts({"a": 3, "é": 1}).state(), "attributes": ["x"]},
        per_token=kind == "per_token",
    )


def of(c: EncodedCorpus, d: int) -> dict:
    """All that is known of one document."""
    span = slice(c.offsets[d], c.offsets[d + 1])
    attributes = c.attributes[span] if c.per_token else c.attributes[d]
    columns = {
        name: values[d].as_py() if hasattr(values[d], "as_py") else values[d] for name, values in c.columns.items()
    }
    return {"tokens": c[d].tolist(), "attributes": attributes.tolist(), **columns}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "rows",
    [
        np.arange(2, 6),
        np.arange(8),
        np.array([5]),
        np.array([6, 2, 2, 0]),
        np.array([3, 2, 1]),
        np.arange(8) % 3 == 0,
        np.arange(8) > 3,
        np.zeros(8, dtype=bool),
        np.array([], dtype=np.int64),
        np.array([1, 7]),
    ],
    ids=lambda rows: str(rows.astype(int).tolist()),
)
def test_the_documents_taken_are_those_asked_for_in_that_order(kind, rows):
    whole = corpus(kind)
    part = whole.take(rows)
    asked = np.flatnonzero(rows) if rows.dtype == bool else rows
    assert [of(part, i) for i in range(len(part))] == [of(whole, d) for d in asked]
    assert part.attributes.shape[1:] == whole.attributes.shape[1:]
    assert part.per_token == whole.per_token and part.meta is whole.meta
    assert part.vocabulary.words[3:] == ["a", "é"]


@pytest.mark.parametrize("kind", KINDS)
def test_neighbours_are_a_view_others_a_copy(kind):
    whole = corpus(kind)
    view, copy = whole.take(np.arange(2, 7)), whole.take(np.array([2, 4]))
    for name in ("tokens", "attributes"):
        assert np.shares_memory(getattr(view, name), getattr(whole, name))
        assert not np.shares_memory(getattr(copy, name), getattr(whole, name))
    assert np.shares_memory(view.columns["number"], whole.columns["number"])


def test_a_part_of_a_part():
    part = corpus("per_token").take(np.arange(2, 8)).take(np.array([4, 0]))
    assert [of(part, i) for i in (0, 1)] == [of(corpus("per_token"), d) for d in (6, 2)]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"attributes": np.zeros(3, np.int32)}, "3 attributes do not fit 8 documents, 22 tokens"),
        ({"per_token": True}, "8 attributes do not fit"),
        ({"offsets": offsets_of(LENGTHS) + 1}, "offsets or"),
        ({"columns": {"name": pa.array(["a"])}}, "column name: 1 values for 8 documents"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(change, says):
    whole = corpus()
    kept = {name: getattr(whole, name) for name in ("tokens", "offsets", "attributes", "columns", "meta")}
    with pytest.raises(ValueError, match=says):
        EncodedCorpus(**kept | change)


def test_a_sample_is_some_documents_of_about_so_many_words():
    texts = corpus("several")
    few = texts.sample(8)
    assert 8 <= len(few.tokens) < N and np.array_equal(few.tokens, texts.sample(8).tokens)
    whole = [of(texts, d) for d in range(len(texts))]
    assert all(of(few, d) in whole for d in range(len(few)))
    assert texts.sample(N) is texts
