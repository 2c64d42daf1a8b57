"""Words and texts of a corpus in the cells of tables."""

from __future__ import annotations

from tasks.engine.wording import beginning, counted, listed


def test_a_mark_is_not_taken_for_a_comma_of_the_list():
    assert listed(["brought", ",", "!", "'s"]) == "brought, “,”, “!”, 's"
    assert listed([]) == ""


def test_a_text_is_cut_between_words():
    assert beginning("Well, who got\nthe class", 80) == "Well, who got the class"
    assert beginning("Well, who got the class", 16) == "Well, who got …"
    assert beginning("Donaudampfschiff", 5) == "Donau …"


def test_one_is_not_many():
    assert [counted(n, "text") for n in (0, 1, 2000)] == ["0 texts", "1 text", "2,000 texts"]
