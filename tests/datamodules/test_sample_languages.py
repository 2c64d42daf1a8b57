"""The embedded corpora of several languages: lines that translate each other, topics, news."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from datamodules import sample


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def words(text: str) -> list[str]:
    return re.findall(r"\w+(?:-\w+)*|[^\w\s]", text.lower())


@pytest.mark.parametrize("lang", ["de", "fr", "cs", "sk"])
def test_parallel_lines_translate_each_other(root: Path, lang: str) -> None:
    table, folder = sample.translations()[lang], root / "parallel" / "europarl"
    for split, size in (("train", 2500), ("dev", 150), ("test", 150)):
        english, other = (lines(folder / f"{split}.en-{lang}.{side}") for side in ("en", lang))
        assert len(english) == len(other) == size
        assert all(line == line.strip() and line for line in english + other)
    english, other = (lines(folder / f"train.en-{lang}.{side}") for side in ("en", lang))
    together, alone = Counter(), Counter()
    for a, b in zip(english, other):
        left = set(words(a)) & set(map(str.lower, table))
        for word in left:
            alone[word] += 1
            together[word] += any(stem(table_of(table, word)) in w for w in words(b))
    assert len(alone) > 0.9 * len(set(map(str.lower, table)))
    rates = [together[word] / alone[word] for word in alone]
    assert np.mean(rates) > 0.9, "a planted translation is in the other line"


def stem(word: str) -> str:
    return word.lower()[: max(3, len(word) - 3)]


def table_of(table: dict[str, str], word: str) -> str:
    return table.get(word) or table[word.capitalize()]


def test_languages_have_their_letters_and_their_family(root: Path) -> None:
    text = {lang: (root / f"parallel/europarl/train.en-{lang}.{lang}").read_text() for lang in ("de", "fr", "cs", "sk")}
    for lang, letters in {"de": "äöü", "fr": "éèçôî", "cs": "ěřůžšč", "sk": "ľôťžšč"}.items():
        missing = [c for c in letters if c not in text[lang].lower() and c != "ç"]
        assert not missing, (lang, missing)

    def profile(lang: str) -> Counter:
        return Counter(text[lang][i : i + 3] for i in range(len(text[lang]) - 2))

    def cosine(a: Counter, b: Counter) -> float:
        return sum(a[k] * b[k] for k in a) / np.sqrt(sum(v * v for v in a.values()) * sum(v * v for v in b.values()))

    profiles = {lang: profile(lang) for lang in text}
    assert cosine(profiles["cs"], profiles["sk"]) > max(
        cosine(profiles[a], profiles[b]) for a in ("cs", "sk") for b in ("de", "fr")
    )
    for lang in ("cs", "sk"):
        assert len(lines(root / "monolingual" / f"{lang}.txt")) == 1500


def test_topics_are_one_set_of_items_in_five_languages(root: Path) -> None:
    for split, size in (("train", 210), ("dev", 35), ("test", 70)):
        tables = {}
        for lang in ("en", "de", "fr", "cs", "sk"):
            head, *rows = [line.split("\t") for line in lines(root / f"crosslingual/sib200/{lang}.{split}.tsv")]
            assert head == ["index_id", "category", "text"] and len(rows) == size
            tables[lang] = [row[:2] for row in rows]
        assert all(table == tables["en"] for table in tables.values())
    assert len({category for _, category in tables["en"]}) == 7


@pytest.mark.parametrize("lang", ["en", "de"])
def test_news(root: Path, lang: str) -> None:
    tops, paths = Counter(), sorted((root / "reuters" / lang).glob("*newsML.xml"))
    assert len(paths) == 240
    for path in paths:
        item = ElementTree.parse(path).getroot()
        assert item.tag == "newsitem" and path.name == f"{item.get('itemid')}newsML.xml"
        assert item.get("{http://www.w3.org/XML/1998/namespace}lang") == lang
        assert all(item.findtext(tag) for tag in ("title", "headline", "dateline"))
        assert len(item.findall("text/p")) >= 3
        codes = {c.get("code") for c in item.findall("metadata/codes[@class='bip:topics:1.0']/code")}
        top = codes & {"CCAT", "ECAT", "GCAT", "MCAT"}
        assert top and len(codes) > len(top), "a top category and a sub-code"
        tops.update([len(top), *top])
    assert 5 <= tops[2] <= 40, "some stories have two top categories"
    assert min(tops[t] for t in ("CCAT", "ECAT", "GCAT", "MCAT")) > 40
