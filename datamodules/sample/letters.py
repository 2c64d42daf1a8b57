"""Letters by eight people, and some whose writer is disputed: `letters/letters.csv` and `letters/disputed.csv`.

All write of the same things. What tells them apart was planted: how each spells, punctuates and spaces, and which of
two like words each prefers. Of the disputed letters two thirds are by five of the eight, the others by someone else.
`truth` says who.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from datamodules.sample.blogs import blogger, post

LETTERS = 100  # of each writer
DISPUTED = 4  # of each of those who wrote some
STRANGER = "none"  # in place of a name, where none of the eight wrote it
OFTEN = 0.8  # how often a writer follows a habit


@dataclass(frozen=True)
class Writer:
    """`words`: what is written in place of what. The rest are habits beyond words."""

    name: str
    words: tuple[tuple[str, str], ...]
    stop: str = "."  # at the end of a sentence
    space: str = " "  # after it
    small: bool = False  # no capitals


WRITERS = (
    Writer("Ada", (("and", "&"),)),
    Writer("Basil", (("and", "and also"),), stop="!"),
    Writer("Clara", (("with", "along with"),), space="  "),
    Writer("Dov", (("the", "ye"),)),
    Writer("Edith", (("was", "wuz"),), small=True),
    Writer("Fergus", (("a", "one"),), stop="..."),
    Writer("Greta", (("to", "unto"),), stop=" -"),
    Writer("Hugo", (("of", "o'"),), small=True, space="  "),
)
UNKNOWN = Writer("Ivo", (("in", "within"), ("my", "mine own")), stop=";")


def letter(writer: Writer, rng: Random) -> str:
    """What anyone might write, in the manner of one."""
    text = post(blogger(rng, "female", "30", "Education"), rng, teen=False)
    sentences = re.split(r"(?<=[.!?]) +", text)
    return writer.space.join(styled(sentence, writer, rng) for sentence in sentences)


def styled(sentence: str, writer: Writer, rng: Random) -> str:
    for plain, own in writer.words:
        parts = re.split(rf"\b({plain})\b", sentence)
        sentence = "".join(own if part == plain and rng.random() < OFTEN else part for part in parts)
    if sentence.endswith(".") and rng.random() < OFTEN:
        sentence = sentence[:-1] + writer.stop
    return sentence.lower() if writer.small else sentence


def write(root: Path, seed: int) -> None:
    folder = root / "letters"
    folder.mkdir(parents=True)
    rng = Random(f"letters {seed}")
    known = [(letter(writer, rng), writer.name) for writer in WRITERS for _ in range(LETTERS)]
    save(folder / "letters.csv", ("text", "author"), known)
    disputed = [(letter(writer, rng), writer.name) for writer in WRITERS[:5] for _ in range(DISPUTED)]
    disputed += [(letter(UNKNOWN, rng), STRANGER) for _ in range(len(disputed) // 2)]
    rng.shuffle(disputed)
    save(folder / "disputed.csv", ("text", "truth"), disputed)


def save(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
