"""A task says what it has read, once."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from datamodules.corpus import Corpus
from tasks.learning.corpora import say_once


def part(texts, tokens):
    class Part(list):
        pass

    made = Part(range(texts))
    made.tokens = np.zeros(tokens)
    return made


def test_what_was_read_is_said_once(capsys):
    corpus = SimpleNamespace(
        name="haiku", encoded={"train": part(1200, 15_000), "val": part(3, 40), "test": part(4, 50)}
    )
    for _ in range(2):  # rows open the same corpus again
        say_once(Corpus.contents(corpus))  # type: ignore[arg-type]
    assert capsys.readouterr().out == "haiku: texts: train 1,200, val 3, test 4; to learn from 15,000 tokens\n"
