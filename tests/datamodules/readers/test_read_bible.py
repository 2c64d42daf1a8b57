"""Bibles and monolingual text."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from datamodules.readers.bible import languages, read_bible, read_verse_pairs
from datamodules.readers.monolingual import read_monolingual

TEXT = st.text(st.characters(exclude_characters="\n\r\t\0", exclude_categories=["Cs"]), min_size=1, max_size=15)
VERSES = st.dictionaries(st.integers(1, 40).map("Gen.1.{}".format), TEXT, min_size=1, max_size=15)


def tsv(verses: dict[str, str]) -> str:
    return "".join(f"{verse}\t{text}\n" for verse, text in verses.items())


@settings(max_examples=40, deadline=None)
@given(en=VERSES, de=VERSES, packed=st.booleans())
def test_verses_come_back_and_join(folder, write, en, de, packed):
    data = folder()
    write(data / "parallel" / "bible" / "en.tsv", tsv(en), packed)
    write(data / "parallel" / "bible_nt" / "de.tsv", tsv(de), packed)
    assert languages(data) == ["de", "en"]
    assert dict(zip(*(c.to_pylist() for c in read_bible(data, "en").columns), strict=True)) == en
    assert read_verse_pairs(data, "en-de").to_pylist() == [
        {"verse": v, "source": text, "target": de[v]} for v, text in en.items() if v in de
    ]


def test_a_whole_bible_goes_before_a_new_testament(tmp_path, write, one_line):
    write(tmp_path / "parallel" / "bible_nt" / "cs.tsv", "Matt.1.1\tnový\n")
    write(tmp_path / "parallel" / "bible" / "cs.tsv", "Gen.1.1\tcelý\n", packed=True)
    assert read_bible(tmp_path, "cs")["text"].to_pylist() == ["celý"]
    with one_line("'sk'", "there: cs"):
        read_bible(tmp_path, "sk")


def test_bad_verse_names_its_line(tmp_path, write, one_line):
    write(tmp_path / "parallel" / "bible" / "en.tsv", "Gen.1.1\tfirst\nGen.1.2 second\n")
    with one_line("en.tsv line 2", "1 fields"):
        read_bible(tmp_path, "en")


def test_monolingual_leaves_blank_lines_out(tmp_path, write, one_line):
    write(tmp_path / "monolingual" / "sk.txt", "prvá veta\n\n  \ndruhá veta", packed=True)
    assert read_monolingual(tmp_path, "sk")["text"].to_pylist() == ["prvá veta", "druhá veta"]
    with one_line("monolingual/cs.txt"):
        read_monolingual(tmp_path, "cs")


def test_real_bibles(real_data):
    assert len(languages(real_data)) == 48
    counts = {lang: read_bible(real_data, lang).num_rows for lang in ("en", "de", "cs", "got")}
    assert counts == {"en": 31_102, "de": 31_171, "cs": 31_102, "got": 3578}
    assert read_verse_pairs(real_data, "en-cs").num_rows == 31_102
    assert read_monolingual(real_data, "sk").num_rows == 38_310
