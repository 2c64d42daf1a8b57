"""What to complete: the paper's prompts or the user's, each a start and the tags of the words that are to follow.

T tags of a sequence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from atd.errors import AtdError
from atd.expression import nearest_names
from atd.vocabulary import SPECIALS
from datamodules.gutenberg import Gutenberg

SEEN = 12  # words before a sequence that the tagger is shown; its network looks four to each side
START = 4  # words that a prompt made from held-out text begins with


@dataclass(frozen=True)
class Prompt:
    """A start, and the tags of the words that are to follow."""

    start: str
    tags: list[str]


PAPER = (
    Prompt("the meaning of life is", ["DT", "NN", "IN", "DT", "JJ"]),
    Prompt("my greatest accomplishment is", ["TO", "VB", "VBD", "JJS", "NNS"]),
    Prompt("i could not live without", ["PRP", "NN", ",", "JJ", "NN"]),
)


def known_prompts(asked: Sequence[Prompt], tags: Sequence[str]) -> Sequence[Prompt]:
    """The user's own prompts; a tag that the corpus lacks is an error."""
    for prompt in asked:
        if not prompt.tags:
            raise AtdError(f"task.prompts: {prompt.start!r} has no tags; give some of {', '.join(tags)}")
        for tag in lacking(prompt, tags):
            near = nearest_names(tag.upper(), tags) or tags[:8]
            raise AtdError(f"task.prompts: {tag!r} is no tag of this corpus; did you mean {', '.join(near)}?")
    return asked


def paper_prompts(data: Gutenberg, T: int) -> Sequence[Prompt]:
    """Those of the paper's prompts whose tags the corpus has; if there is none, frequent sequences of T tags."""
    kept = []
    for prompt in PAPER:
        if missing := lacking(prompt, data.attributes):
            print(f"prompt left out: {prompt.start!r}; this corpus has no word tagged {' or '.join(missing)}")
        else:
            kept.append(prompt)
    return kept or frequent_prompts(data, T)


def lacking(prompt: Prompt, tags: Sequence[str]) -> list[str]:
    """The tags of the prompt that are not among these."""
    return [tag for tag in dict.fromkeys(prompt.tags) if tag not in tags]


def frequent_prompts(data: Gutenberg, T: int, n: int = len(PAPER)) -> list[Prompt]:
    """The n most frequent sequences of T tags in held-out text, each after the words before its first occurrence."""
    test = data.encoded["test"]
    at = places(data, T)
    before = test.tokens[at[:, None] + np.arange(-START, 0)]
    readable = (before >= len(SPECIALS)).all(1)
    at, before = at[readable], before[readable]
    found, first, count = np.unique(
        test.attributes[at[:, None] + np.arange(T)], axis=0, return_index=True, return_counts=True
    )
    return [
        Prompt(" ".join(data.vocabulary.decode(before[first[i]])), [data.attributes[tag] for tag in found[i]])
        for i in np.argsort(-count, kind="stable")[:n]
    ]


def places(data: Gutenberg, T: int) -> np.ndarray:
    """Where in held-out text T words begin that have SEEN words of the same document before them."""
    test = data.encoded["test"]
    position = np.arange(len(test.tokens))
    begin, end = test.offsets[test.owner], test.offsets[test.owner + 1]
    found = np.flatnonzero((position - begin >= SEEN) & (end - position >= T))
    if not len(found):
        raise AtdError(f"data={data.name}: no held-out text of {SEEN + T} words; raise data.holdout")
    return found


def sequences(data: Gutenberg, n: int, T: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random held-out places: the SEEN words before, the tags asked for and the words that really followed."""
    test = data.encoded["test"]
    found = places(data, T)
    at = np.sort(np.random.default_rng(seed).choice(found, min(n, len(found)), replace=False))
    before, after = at[:, None] + np.arange(-SEEN, 0), at[:, None] + np.arange(T)
    return test.tokens[before], test.attributes[after], test.tokens[after]
