"""Sentences of the books with their Penn tags, `word/TAG`: the generator knows them.

Train holds every word of the books (under a first seed of sentences that bring new words), so that a tagger
trained on it knows the books' vocabulary.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

from datamodules.sample.books import BOOKS, chapters
from datamodules.sample.lexicon import Tagged
from datamodules.sample.rendering import capitalised

SIZES = {"train": 1500, "dev": 150, "test": 150}


def line(tokens: list[Tagged]) -> str:
    """Quotation marks are `"` tagged by their side, as in the web treebank."""
    marks = {"``": '"', "''": '"'}
    return " ".join(f"{marks.get(word, word)}/{tag}" for word, tag in capitalised(tokens))


def write(root: Path, seed: int) -> None:
    folder = root / "pos"
    folder.mkdir(parents=True)
    sentences = [
        tokens for book in BOOKS for chapter in chapters(book, seed) for paragraph in chapter for tokens in paragraph
    ]
    Random(f"tagged {seed}").shuffle(sentences)
    known: set[str] = set()
    train: list[str] = []
    rest: list[str] = []
    for tokens in sentences:
        words = {word for word, tag in tokens if tag != "CD"}
        (rest if words <= known else train).append(line(tokens))
        known |= words
    rest = list(dict.fromkeys(rest))
    more = SIZES["train"] - len(train)
    splits = {"train": train + rest[:more], "dev": rest[more : more + 150], "test": rest[more + 150 : more + 300]}
    for split, lines in splits.items():
        (folder / f"ewt_{split}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
