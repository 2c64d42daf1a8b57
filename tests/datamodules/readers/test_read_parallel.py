"""Parallel text: line i with line i, whatever the layout."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datamodules.readers import parallel
from datamodules.readers.parallel import read_pairs

SENTENCE = st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]), min_size=1, max_size=12)
PAIRS = st.lists(st.tuples(SENTENCE, SENTENCE).filter(lambda p: p[0].strip() and p[1].strip()), min_size=1, max_size=30)


def columns(pairs):
    return [{"source": a, "target": b} for a, b in pairs]


def text(lines) -> str:
    return "".join(line + "\n" for line in lines)


@settings(max_examples=40, deadline=None)
@given(pairs=PAIRS, packed=st.booleans(), limit=st.none() | st.integers(0, 40))
def test_cut_files(folder, write, pairs, packed, limit):
    data = folder()
    pairs = [(a.removeprefix("\ufeff") or "x", b.removeprefix("\ufeff") or "x") for a, b in pairs]
    for lang, side in zip(("en", "de"), zip(*pairs, strict=True), strict=True):
        write(data / "parallel" / "europarl" / f"dev.en-de.{lang}", text(side), packed)
    assert read_pairs(data, "en-de", "dev", limit).to_pylist() == columns(pairs)[:limit]
    assert read_pairs(data, "de-en", "dev").to_pylist() == columns([(b, a) for a, b in pairs])


@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 50), layout=st.sampled_from(["plain", "gz", "tgz"]))
def test_the_uncut_release_is_cut_at_its_end(folder, write, write_tgz, n, layout):
    data = folder()
    sides = {lang: text(f"{lang} {i}" for i in range(n)) for lang in ("fr", "en")}
    if layout == "tgz":
        write_tgz(data / "europarl" / "fr-en.tgz", {f"europarl-v7.fr-en.{lang}": side for lang, side in sides.items()})
    else:
        for lang, side in sides.items():
            write(data / "europarl" / f"europarl-v7.fr-en.{lang}", side, layout == "gz")
    splits = {split: read_pairs(data, "en-fr", split).to_pylist() for split in ("train", "dev", "test")}
    assert [row for rows in splits.values() for row in rows] == columns((f"en {i}", f"fr {i}") for i in range(n))
    assert len(splits["dev"]) == len(splits["test"]) == n // 10


def test_unaligned_lines_are_left_out_after_the_split(tmp_path, write, monkeypatch):
    monkeypatch.setattr(parallel, "HELD_OUT", 1)
    write(tmp_path / "europarl-v7.de-en.de", text(["a", "", "c", *"defghij"]))
    write(tmp_path / "europarl-v7.de-en.en", text(["A", "B", " ", *"DEFGHIJ"]))
    assert read_pairs(tmp_path, "en-de", "train")["source"].to_pylist() == list("ADEFGH")
    assert read_pairs(tmp_path, "en-de", "test").to_pylist() == [{"source": "J", "target": "j"}]


def test_odd_line_ends_do_not_shift_lines(tmp_path, write):
    write(tmp_path / "train.en-de.en", "one\x85still one\u2028and still\ntwo\n")
    write(tmp_path / "train.en-de.de", "eins\r\nzwei")
    assert read_pairs(tmp_path, "en-de")["target"].to_pylist() == ["eins", "zwei"]


def test_unequal_counts_name_both_files(tmp_path, write, one_line):
    write(tmp_path / "parallel" / "train.en-de.en", "one\ntwo\n")
    write(tmp_path / "parallel" / "train.en-de.de", "eins\nzwei\ndrei\n", packed=True)
    with one_line("train.en-de.en has 2 lines", "train.en-de.de.gz has 3"):
        read_pairs(tmp_path, "en-de")


def test_bad_bytes_name_file_and_line(tmp_path, write, one_line):
    write(tmp_path / "train.en-de.en", "one\ntwo\n")
    write(tmp_path / "train.en-de.de", b"eins\nzw\xe9i\n")
    with one_line("train.en-de.de line 2", "UTF-8"):
        read_pairs(tmp_path, "en-de")


def test_what_is_missing_is_said(tmp_path, write, one_line):
    with one_line("no parallel text for en-cs (train)", "train.en-cs.en"):
        read_pairs(tmp_path, "en-cs")
    for bad in ("en", "en-en", "en-", "en-de-fr"):
        with one_line(repr(bad)):
            read_pairs(tmp_path, bad)
    write(tmp_path / "train.en-de.en", "one\n")
    with one_line("train.en-de.de", "missing beside", "train.en-de.en"):
        read_pairs(tmp_path, "en-de")


@pytest.mark.parametrize(("pair", "counts"), [("en-de", [150_000, 1996, 1995]), ("en-fr", [150_000, 1995, 1994])])
def test_real_europarl(real_data, pair, counts):
    assert [read_pairs(real_data, pair, split).num_rows for split in ("train", "dev", "test")] == counts
