"""Sentiment trees: every node of every tree, as written."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datamodules.readers.trees import read_trees

WORD = st.text(
    st.characters(exclude_characters="() \t\n\r\ufeff", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=6
)
LABEL = st.integers(0, 4)
TREE = st.recursive(
    st.tuples(LABEL, WORD),
    lambda inner: st.tuples(LABEL, st.lists(inner, min_size=1, max_size=3)),
    max_leaves=8,
)


def bracket(tree) -> str:
    label, inside = tree
    return f"({label} {inside if isinstance(inside, str) else ' '.join(map(bracket, inside))})"


def words(tree) -> list[str]:
    return [tree[1]] if isinstance(tree[1], str) else [w for child in tree[1] for w in words(child)]


def nodes(tree, start: int = 0):
    """(label, words, start) of every node, parents first."""
    yield tree[0], words(tree), start
    if not isinstance(tree[1], str):
        for child in tree[1]:
            yield from nodes(child, start)
            start += len(words(child))


@settings(max_examples=80, deadline=None)
@given(trees=st.lists(TREE, min_size=1, max_size=5), packed=st.booleans())
def test_every_node_comes_back(folder, write, trees, packed):
    data = folder()
    write(data / "sst" / "train.txt", "\n".join(map(bracket, trees)) + "\n", packed)
    names = ("text", "label", "length", "root", "sentence", "start")
    expected = [
        dict(zip(names, (" ".join(inside), label, len(inside), i == 0, s, start), strict=True))
        for s, tree in enumerate(trees)
        for i, (label, inside, start) in enumerate(nodes(tree))
    ]
    assert read_trees(data, "train").to_pylist() == expected


@settings(max_examples=60, deadline=None)
@given(tree=TREE, rest=st.integers(1, 40))
def test_any_truncation_is_named(folder, write, one_line, tree, rest):
    text, data = bracket(tree), folder()
    write(data / "sst" / "dev.txt", f"(2 fine)\n{text[: max(1, len(text) - rest)]}")
    with one_line("dev.txt line 2"):
        read_trees(data, "dev")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("(3 good))", "column 9"),
        ("(3 good) (2 bad)", "second tree"),
        ("(3 good) more", "'more' stands outside"),
        ("(7 good)", "no label from 0 to 4"),
        ("(10 good)", "no label from 0 to 4"),
        ("(3 )", "has no word"),
        ("good", "'good' stands outside"),
        ("(3 (2 very) (3 good)", "truncated tree, 1 brackets still open"),
    ],
)
def test_bad_trees(tmp_path, write, one_line, line, problem):
    write(tmp_path / "trees" / "test.txt", f"(2 fine)\n\n{line}\n")
    with one_line("test.txt line 3", problem):
        read_trees(tmp_path, "test")


def test_escapes_stay_unless_asked(tmp_path, write):
    write(tmp_path / "sst" / "train.txt", "(2 (2 -LRB-) (2 (2 1\\/2) (2 -rrb-)))")
    assert read_trees(tmp_path, "train")["text"][0].as_py() == "-LRB- 1\\/2 -rrb-"
    assert read_trees(tmp_path, "train", unescape=True)["text"].to_pylist() == ["( 1/2 )", "(", "1/2 )", "1/2", ")"]


def test_the_zip_of_the_release(tmp_path, write_zip, one_line):
    write_zip(tmp_path / "trainDevTestTrees_PTB.zip", {"trees/train.txt": "(4 yes)\n", "trees/dev.txt": b"(4 \xff)\n"})
    assert read_trees(tmp_path, "train")["text"].to_pylist() == ["yes"]
    with one_line("trainDevTestTrees_PTB.zip:trees/dev.txt line 1", "UTF-8"):
        read_trees(tmp_path, "dev")
    with one_line("trees/test.txt", "no such file"):
        read_trees(tmp_path, "test")


def test_missing_and_empty(tmp_path, write, one_line):
    with one_line("no sentiment treebank (train)", "sst/train.txt", "trainDevTestTrees_PTB.zip"):
        read_trees(tmp_path, "train")
    write(tmp_path / "sst" / "train.txt", "")
    with one_line("train.txt", "empty"):
        read_trees(tmp_path, "train")


def test_the_real_treebank(real_data):
    counts = {split: read_trees(real_data, split) for split in ("train", "dev", "test")}
    assert [table["root"].to_numpy().sum() for table in counts.values()] == [8544, 1101, 2210]
    assert counts["train"].num_rows == 318_582
    assert sorted(set(counts["train"]["label"].to_pylist())) == [0, 1, 2, 3, 4]
