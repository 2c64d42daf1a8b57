"""The kernel in C numbers words as its twin in Python does, whatever the text, the language and the threads."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from atd import numbering_kernel
from atd.native import kernel
from atd.numbering import Numbering
from atd.numbering_kernel import POINTS, KernelNumbering
from atd.tokeniser import Tokeniser

pytestmark = pytest.mark.skipif(kernel("words") is None, reason="no compiler")

HARD = ["İ", "ı", "ſ", "K", "Σ", "σ", "ς", "😀", "𐐀", "𝟘", "𠀀", "中", "ﬁ", "ẞ", "ß", "Ⅸ", "²", "½", "٣", "ǅ", "\0"]
MARKS = ["\u0301", "\u0903", "\u20dd", "\u200d", "\ufe0f", "\u00a0", "\u0085", "\x1c", "’", "‘", "“", "_"]
PIECES = ["Mr.", "ST.", "U.S.", "n't", "'LL", "I’m", "aujourd'hui", "Aujourd’Hui", "1,000.5", "1.2a", "--", "..."]
TEXT = st.lists(st.sampled_from([*"abdelmnrstvABST01.,:'- \n\t\v", *HARD, *MARKS, *PIECES]), max_size=25).map("".join)
ANY = st.one_of(st.none(), TEXT, st.text(max_size=20))
COLUMNS = st.lists(st.lists(ANY, max_size=9), min_size=1, max_size=3)
TOKENISERS = st.builds(
    Tokeniser,
    st.sampled_from(["fast", "whitespace"]),
    st.sampled_from(["en", "de", "fr", "fi"]),
    st.booleans(),
    st.booleans(),
)


def assert_equal(tokeniser: Tokeniser, fold: bool, columns: list) -> None:
    fast, twin = KernelNumbering(tokeniser, fold), Numbering(tokeniser, fold)
    for column in columns:
        ours, expected = fast.add(column), twin.add(column)
        assert ours.tokens.dtype == np.int32 and np.array_equal(ours.tokens, expected.tokens)
        assert ours.offsets.dtype == np.int64 and np.array_equal(ours.offsets, expected.offsets)
        assert fast.types == twin.types


@settings(max_examples=100, deadline=None)
@given(TOKENISERS, st.booleans(), COLUMNS, st.integers(1, 60), st.integers(1, 3), st.booleans())
def test_the_kernel_equals_its_twin(tokeniser, fold, batches, size, threads, large):
    """Batch after batch, in slices of any size."""
    kind = pa.large_string() if large else pa.string()
    columns = [pa.chunked_array([texts[:3], texts[3:]], kind) for texts in batches]
    before, whole = torch.get_num_threads(), numbering_kernel.SLICE
    torch.set_num_threads(threads)
    numbering_kernel.SLICE = size
    try:
        assert_equal(tokeniser, fold, columns)
    finally:
        torch.set_num_threads(before)
        numbering_kernel.SLICE = whole


def test_every_character_is_known_to_both():
    """In words, between digits, at either end; those beyond the tables among them."""
    known = [chr(c) for c in range(1, POINTS + 1000) if not 0xD800 <= c < 0xE000]
    for form in ("a{}b", "1{}2 {}", "{}'s"):
        assert_equal(Tokeniser(), True, [pa.array([" ".join(form.format(c, c) for c in known)])])


def test_many_words_and_long_ones():
    """More than the tables first hold, shorter and longer than eight bytes."""
    texts = [f"w{i} {i}th longer-than-eight{i} {'x' * (i % 70)}" for i in range(30_000)]
    assert_equal(Tokeniser(), True, [pa.array(texts), pa.array(["y" * 300_000 + "1_" + "b." * 50_000, *texts[:9]])])


def test_a_column_that_is_part_of_another():
    texts = pa.array(["one two", None, "three", "four"])
    assert_equal(Tokeniser(), True, [texts[1:3], texts[4:], texts, pa.chunked_array([], pa.string())])


def test_of_other_kinds_the_rule_is_asked():
    assert_equal(Tokeniser("spacy"), True, [pa.array(["Don't! I.e. so…", "  \u00a0 ", "x@y.org"])] * 2)


def test_bytes_that_are_no_text_are_an_error_for_both():
    broken = pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, 4], np.int32)), pa.py_buffer(b"ab\xe2\x82"))
    for kind in (KernelNumbering, Numbering):
        with pytest.raises(UnicodeDecodeError):
            kind(Tokeniser()).add(broken)
