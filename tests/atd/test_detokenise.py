"""Tokens become text again."""

from __future__ import annotations

import pytest

from atd.detokenise import detokenised


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ('" i do n\'t know , " he said ; ( so it was ) .', '"i don\'t know," he said; (so it was).'),
        ("it cost $ 5 , i think . « oui » !", "it cost $5, i think. «oui»!"),
        ('it lay . " " i saw , " he said , " a bay . " " aye', 'it lay." "i saw," he said, "a bay." "aye'),
        ("wait ... -- no", "wait... -- no"),
        ("the king ’s men ca n’t", "the king’s men can’t"),
    ],
)
def test_marks_stand_where_people_put_them(tokens, text):
    assert detokenised(tokens) == text
    assert detokenised(text) == text


def test_words_stay():
    text = "No change: a 3.5 % rise, (really) “so”."
    assert detokenised(text).replace(" ", "") == text.replace(" ", "")
