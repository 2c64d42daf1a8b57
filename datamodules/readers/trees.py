"""Sentiment trees in Penn bracketing: `(3 (2 It) (4 (2 's) (4 great)))`, one per line, every node labelled.

Accepted under the data folder: `sst/<split>.txt`, `trees/<split>.txt`, or `trainDevTestTrees_PTB.zip` (the
Stanford release, members `trees/<split>.txt`), itself or inside `sst/`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa

from datamodules.readers.files import Place, require

SPLITS = ("train", "dev", "test")
ARCHIVE = "trainDevTestTrees_PTB.zip"
SCHEMA = pa.schema(
    {
        "text": pa.string(),  # the words under the node, one space between
        "label": pa.int8(),  # 0 very negative … 4 very positive
        "length": pa.int32(),  # in words
        "root": pa.bool_(),  # the whole sentence
        "sentence": pa.int32(),  # which tree of the file, from 0
        "start": pa.int32(),  # the node's first word within the sentence
    }
)
# Only blanks part words: the treebank has words with a no-break space inside (`8 1\/2`), which \s would cut.
_TOKEN = re.compile(r"\(([0-4])(?=[ \t(])|(\))|([^() \t\r\f\v]+)|[ \t\r\f\v]+|(.)")
LETTERS = 2**28  # that the nodes of a file may hold together: one that branches always to the left holds n² of them
_ESCAPES = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


def find_trees(data_dir: str | Path, split: str) -> Place:
    """Where the trees of a split are."""
    data_dir, name = Path(data_dir), f"{split}.txt"
    archives = [Place(data_dir / folder / ARCHIVE, f"trees/{name}") for folder in ("", "sst", "trees")]
    candidates = [data_dir / "sst" / name, data_dir / "trees" / name, data_dir / "sst" / "trees" / name]
    return require(f"sentiment treebank ({split})", data_dir, *candidates, *archives)


def read_trees(data_dir: str | Path, split: str, unescape: bool = False, most: int | None = None) -> pa.Table:
    """One row per labelled node, in reading order: a parent before its children, a sentence's root first.

    `unescape` turns -LRB- and its kin back into brackets and drops the backslash of `\\/`, as in print. `most`: only
    the first so many trees.
    """
    place = find_trees(data_dir, split)
    columns: dict[str, list] = {name: [] for name in SCHEMA.names}
    sentence, room = 0, LETTERS
    for number, line in enumerate(place.text().split("\n"), 1):
        if sentence == most:
            break
        if line.strip():
            room -= _add_tree(columns, line, sentence, unescape, place, number, room)
            sentence += 1
    return pa.table(columns, SCHEMA)


def _add_tree(
    columns: dict[str, list], line: str, sentence: int, unescape: bool, place: Place, number: int, room: int
) -> int:
    """Parse one tree with a stack of open nodes; a node's text is a slice of the sentence. Returns their letters."""
    words: list[str] = []
    nodes: list[list[int]] = []  # [label, first word, one past the last word]
    stack: list[int] = []
    for match in _TOKEN.finditer(line):
        label, close, word, other = match.groups()
        if label is not None:
            if nodes and not stack:
                raise place.error("a second tree on the line; put each tree on a line of its own", number)
            stack.append(len(nodes))
            nodes.append([int(label), len(words), 0])
        elif close:
            if not stack:
                raise place.error(f"column {match.start() + 1} closes a bracket that none opened", number)
            node = nodes[stack.pop()]
            node[2] = len(words)
            if node[1] == node[2]:
                raise place.error(f"the node that ends at column {match.end()} has no word", number)
        elif word:
            if not stack:
                raise place.error(f"{word!r} stands outside the tree; mend the tree", number)
            words.append(_unescape(word) if unescape else word)
        elif other:
            raise place.error(f"no label from 0 to 4 after the bracket at column {match.start() + 1}", number)
    if stack or not nodes:
        raise place.error(f"truncated tree, {len(stack)} brackets still open; fetch the file again", number)

    text = " ".join(words)
    begin, at = [], 0  # where each word begins in text
    for word in words:
        begin.append(at)
        at += len(word) + 1
    begin.append(at)
    letters = sum(begin[last] - begin[first] for _, first, last in nodes)
    if letters > room:
        raise place.error(f"the texts of all nodes are over {LETTERS} letters; split the file or the sentence", number)
    columns["text"] += [text[begin[first] : begin[last] - 1] for _, first, last in nodes]
    columns["label"] += [label for label, _, _ in nodes]
    columns["length"] += [last - first for _, first, last in nodes]
    columns["start"] += [first for _, first, _ in nodes]
    columns["root"] += [True] + [False] * (len(nodes) - 1)
    columns["sentence"] += [sentence] * len(nodes)
    return letters


def _unescape(word: str) -> str:
    return _ESCAPES.get(word.upper(), word.replace("\\/", "/").replace("\\*", "*"))
