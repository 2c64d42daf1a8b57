"""Reuters news: the layouts of the release, one top category per story, no trust in the XML."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datamodules.readers.reuters import CATEGORIES, read_reuters
from datamodules.readers.topics import read_topics

PLAIN = st.text(st.characters(max_codepoint=255, exclude_categories=["Cc", "Cs"]), min_size=1, max_size=30)
CODES = st.lists(st.sampled_from([*CATEGORIES, "C15", "E11", "M14", "GSPO"]), max_size=4, unique=True)
STORY = st.fixed_dictionaries(
    {"headline": PLAIN, "paragraphs": st.lists(PLAIN, min_size=1, max_size=3), "codes": CODES}
)


def news(item: int, headline: str, paragraphs: list[str], codes: list[str]) -> bytes:
    """A story as RCV1 has it: Latin-1, codes of countries and industries beside those of topics."""
    listed = "".join(f'<code code="{c}"><editdetail action="confirmed" date="1996-08-20"/></code>' for c in codes)
    body = "".join(f"<p>{escape(p)}</p>\n" for p in paragraphs)
    return f"""<?xml version="1.0" encoding="iso-8859-1" ?>
<newsitem itemid={quoteattr(str(item))} id="root" date="1996-08-20" xml:lang="en">
<title>UK: {escape(headline)}</title>
<headline>{escape(headline)}</headline>
<dateline>LONDON 1996-08-20</dateline>
<text>
{body}</text>
<copyright>(c) Somebody 1996</copyright>
<metadata>
<codes class="bip:countries:1.0"><code code="UK"/></codes>
<codes class="bip:industries:1.0"><code code="CCAT"/></codes>
<codes class="bip:topics:1.0">{listed}</codes>
<dc element="dc.publisher" value="Somebody"/>
</metadata>
</newsitem>""".encode("latin-1")


def squeeze(text: str) -> str:
    return " ".join(text.split())


@settings(max_examples=40, deadline=None)
@given(stories=st.lists(STORY, min_size=1, max_size=6), layout=st.sampled_from(["folder", "gz", "daily", "zip", "tgz"]))
def test_stories_come_back(folder, write, write_zip, write_tgz, stories, layout):
    data = folder()
    stories = [*stories, {"headline": "Last", "paragraphs": ["word"], "codes": ["MCAT"]}]
    files = {f"{2000 + i}newsML.xml": news(2000 + i, **story) for i, story in enumerate(stories)}
    if layout == "zip":
        write_zip(data / "reuters" / "de.zip", files)
    elif layout == "tgz":
        write_tgz(data / "rcv2" / "german.tgz", files)
    elif layout == "daily":
        for i, (name, story) in enumerate(files.items()):
            write_zip(data / "rcv2" / "german" / f"199608{20 + i}.zip", {name: story})
    else:
        for name, story in files.items():
            write(data / "reuters" / "german" / "disc1" / name, story, layout == "gz")
    expected = []
    for i, story in enumerate(stories):
        top = [c for c in story["codes"] if c in CATEGORIES]
        if len(top) == 1:
            lines = [squeeze(text) for text in (story["headline"], *story["paragraphs"])]
            text = "\n".join(line for line in lines if line)
            expected.append({"id": str(2000 + i), "text": text, "category": top[0], "date": "1996-08-20"})
    assert read_reuters(data, "de").to_pylist() == expected


def test_without_headlines_and_through_topics(tmp_path, write):
    for i in range(30):
        write(tmp_path / "rcv1" / f"{i}newsML.xml", news(i, "Head", ["First &", "second"], [CATEGORIES[i % 4]]))
    assert read_reuters(tmp_path, "en", headline=False)["text"][0].as_py() == "First &\nsecond"
    sizes = [read_topics(tmp_path, "reuters", "en", split).num_rows for split in ("train", "dev", "test")]
    assert sizes == [17, 3, 10]


@pytest.mark.parametrize(
    ("change", "line", "problem"),
    [
        ((b"</headline>", b"</heading>"), 4, "mismatched tag"),
        ((b"</newsitem>", b""), 16, "no element found"),
        ((b"Head", b"A & B"), 3, "not well-formed"),
        ((b"iso-8859-1", b"utf-8"), 7, "not well-formed"),
        ((b"iso-8859-1", b"no-such-code"), 1, "encoding"),
    ],
)
def test_broken_stories_name_file_and_line(tmp_path, write_zip, one_line, change, line, problem):
    story = news(7, "Head", ["bytes \xe9\xff"], ["CCAT"])
    write_zip(tmp_path / "reuters" / "en" / "day.zip", {"7newsML.xml": story.replace(*change)})
    with one_line(f"day.zip:7newsML.xml line {line}", problem):
        read_reuters(tmp_path, "en")


def test_entities_are_refused(tmp_path, write, one_line):
    bomb = b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><newsitem><text><p>&b;</p></text></newsitem>'
    write(tmp_path / "reuters" / "en" / "1.xml", bomb)
    with one_line("1.xml", "declares the entity 'a'"):
        read_reuters(tmp_path, "en")
    outside = b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><newsitem><text><p>&a;</p></text></newsitem>'
    write(tmp_path / "reuters" / "en" / "1.xml", outside)
    with one_line("declares the entity 'a'"):
        read_reuters(tmp_path, "en")


def test_nothing_usable(tmp_path, write, one_line):
    write(tmp_path / "reuters" / "fr" / "1.xml", news(1, "Head", ["x"], ["CCAT", "MCAT"]))
    with one_line("reuters/fr", "no story with exactly one"):
        read_reuters(tmp_path, "fr")
    with one_line("reuters/it", "NIST", "sib200"):
        read_reuters(tmp_path, "it")
