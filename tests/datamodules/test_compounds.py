"""Unknown words and the known ones they stand for."""

from __future__ import annotations

import pytest

from atd.vocabulary import UNK_ID, Vocabulary
from datamodules.compounds import parts

COUNTS = {"reise": 90, "kaufmann": 5, "meilen": 7, "viertel": 20, "arbeit": 80, "markt": 50, "schule": 9, "haus": 30,
          "politische": 12, "mann": 40}  # fmt: skip
VOCABULARY = Vocabulary.from_counts(COUNTS)


@pytest.mark.parametrize(
    ("word", "known"),
    [
        ("markt", "markt"),
        ("reisekaufmann", "reise kaufmann"),
        ("arbeitsmarkt", "arbeit markt"),
        ("schulhaus", "schule haus"),
        ("halbmeilen", "meilen"),
        ("politisches", "politische"),
        ("xyzzy", "<unk>"),
        ("12a", "<unk>"),
    ],
)
def test_parts(word, known):
    assert " ".join(VOCABULARY.decode(parts(word, VOCABULARY))) == known
    assert (parts(word, VOCABULARY) == [UNK_ID]) == (known == "<unk>")
