"""Pages of the log: a date and the conclusion first, headed tables, and what to read in each of them."""

from __future__ import annotations

import re

import pytest
from small_runs import ROOT

PAGES = sorted((ROOT / "docs/log").glob("*.md"))
TABLE = re.compile(r"^\|.*\n\|[-:| ]+\|\n(?:\|.*\n)+", flags=re.M)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_begins_with_its_date_and_its_conclusion(page):
    title, _, said, *_ = page.read_text(encoding="utf-8").split("\n")
    assert title.startswith("# ")
    assert re.match(r"\*\d+( (to|and) \d+)? \w+ \d{4}\.\* \*\*", said), said


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_table_has_heads_and_a_sentence_that_says_what_to_read(page):
    text = page.read_text(encoding="utf-8")
    for table in TABLE.finditer(text):
        heads = table[0].split("\n")[0].strip("|").split("|")
        assert all(head.strip() for head in heads), heads
        assert re.match(r"\n[A-Z]", text[table.end() :]), f"nothing below {heads}"


def test_every_page_is_in_the_list():
    listed = re.findall(r"\]\(log/(\S+?)\.md\)", (ROOT / "docs/log.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(page.stem for page in PAGES)
