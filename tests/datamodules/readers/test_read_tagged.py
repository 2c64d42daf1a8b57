"""Tagged text: words and tags, sentence by sentence."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datamodules.readers.tagged import read_tagged

WORD = st.text(st.characters(exclude_characters="\ufeff", exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=6)
TAG = st.sampled_from(["NN", "VBZ", "-LRB-", ",", "``", "PRP$"])
SENTENCE = st.lists(st.tuples(WORD, TAG), min_size=1, max_size=6)
SENTENCES = st.lists(SENTENCE, min_size=1, max_size=6)


def rows(sentences):
    return [{"words": [w for w, _ in s], "tags": [t for _, t in s]} for s in sentences]


@settings(max_examples=50, deadline=None)
@given(sentences=SENTENCES, packed=st.booleans())
def test_slashed_lines_come_back(folder, write, sentences, packed):
    data = folder()
    write(data / "pos" / "ewt_dev.txt", "".join(" ".join(f"{w}/{t}" for w, t in s) + "\n" for s in sentences), packed)
    assert read_tagged(data, "dev").to_pylist() == rows(sentences)


@settings(max_examples=50, deadline=None)
@given(sentences=SENTENCES, packed=st.booleans())
def test_conllu_comes_back(folder, write, sentences, packed):
    data = folder()
    blocks = []
    for sentence in sentences:
        lines = ["# text = whatever", "1-2\tboth\t_\t_\t_\t_\t_\t_\t_\t_"]
        lines += [f"{i}\t{w}\tlemma\tX\t{t}\t_\t0\troot\t_\t_" for i, (w, t) in enumerate(sentence, 1)]
        blocks.append("\n".join([*lines, "9.1\tempty\t_\t_\t_\t_\t_\t_\t_\t_"]))
    write(data / "pos" / "en_ewt-ud-train.conllu", "\n\n".join(blocks) + "\n\n", packed)
    assert read_tagged(data, "train").to_pylist() == rows(sentences)
    assert {tag for tags in read_tagged(data, "train", "upos")["tags"].to_pylist() for tag in tags} == {"X"}


def test_files_of_a_split_are_joined(tmp_path, write):
    write(tmp_path / "pos" / "b_test.txt", "two/CD", packed=True)
    write(tmp_path / "pos" / "a_test.txt", "1\\/2/CD\n\n//SYM")
    assert read_tagged(tmp_path, "test")["words"].to_pylist() == [["1\\/2"], ["/"], ["two"]]


@pytest.mark.parametrize(
    ("name", "text", "parts"),
    [
        ("a_dev.txt", "fine/JJ\nword/NN bare", ["a_dev.txt line 2", "'bare'"]),
        ("a_dev.txt", "word/", ["line 1", "word/TAG"]),
        ("a-dev.conllu", "# c\n1\tword\tNN\n", ["a-dev.conllu line 2", "3 fields"]),
        ("a_dev.txt", b"a/NN\n\xff/NN\n", ["a_dev.txt line 2", "UTF-8"]),
        ("a_dev.txt", "", ["empty"]),
        ("readme.md", "x", ["no tagged text (dev)", "pos/*dev*.conllu"]),
    ],
)
def test_bad_input(tmp_path, write, one_line, name, text, parts):
    write(tmp_path / "pos" / name, text)
    with one_line(*parts):
        read_tagged(tmp_path, "dev")


def test_the_real_tags(real_data):
    tables = [read_tagged(real_data, split) for split in ("train", "dev", "test")]
    assert [t.num_rows for t in tables] == [12_544, 2001, 2077]
    assert [len(t["tags"].combine_chunks().flatten()) for t in tables] == [204_577, 25_147, 25_094]
