"""News stories in English and German in the XML of Reuters RCV1 and RCV2, with topic codes.

The two languages tell different stories, in the words of the parallel sentences, so that a classifier trained on
one language works on the other only through what was learned from the parallel text.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from xml.sax.saxutils import escape

from datamodules.sample.translation import dictionary, draw, running_text

STORIES = 240  # of each language
TOPICS = {  # top category → sub-code → what such a story speaks of
    "CCAT": {"C15": "business", "C18": "business", "C31": "business"},
    "ECAT": {"E12": "economy", "E21": "economy", "E41": "economy"},
    "GCAT": {"GPOL": "politics", "GVOTE": "politics", "GSPO": "sports", "GHEA": "health", "GSCI": "science"},
    "MCAT": {"M11": "markets", "M13": "markets", "M14": "markets"},
}
TWO_TOPICS = 0.08  # share of stories with two top categories, which the protocol leaves out
STRAY = 0.25  # share of sentences about something else
PLACES = {"en": ["LONDON", "BRUSSELS", "DUBLIN"], "de": ["Bonn", "Wien", "Zürich"]}
COUNTRIES = {"en": ["UK", "BELG", "IRE"], "de": ["GFR", "AUST", "SWITZ"]}


def story(rng: Random, lang: str, item: int) -> str:
    tops = rng.sample(sorted(TOPICS), 2 if rng.random() < TWO_TOPICS else 1)
    codes = [(top, rng.choice(list(TOPICS[top]))) for top in tops]
    domains = [TOPICS[top][code] for top, code in codes]

    def say() -> str:
        stray = rng.random() < STRAY
        domain = rng.choice(dictionary().domains if stray else domains)
        return running_text(draw(rng, domain).say(lang), lang)

    headline = escape(running_text(draw(rng, domains[0]).say(lang), lang))
    paragraphs = [" ".join(say() for _ in range(rng.randrange(1, 3))) for _ in range(rng.randrange(3, 6))]
    where = rng.randrange(3)
    date = f"1997-{rng.randrange(1, 9):02}-{rng.randrange(1, 29):02}"
    place, country = PLACES[lang][where], COUNTRIES[lang][where]
    topics = sorted({code for pair in codes for code in pair})
    lines = [
        '<?xml version="1.0" encoding="iso-8859-1" ?>',
        f'<newsitem itemid="{item}" id="root" date="{date}" xml:lang="{lang}">',
        f"<title>{country}: {headline}</title>",
        f"<headline>{headline}</headline>",
        f"<dateline>{place}</dateline>",
        "<text>",
        *(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs),
        "</text>",
        "<copyright>A sample, free to use</copyright>",
        "<metadata>",
        *code_list("bip:countries:1.0", [country], date),
        *code_list("bip:topics:1.0", topics, date),
        '<dc element="dc.publisher" value="Sample"/>',
        f'<dc element="dc.date.published" value="{date}"/>',
        f'<dc element="dc.creator.location" value="{place}"/>',
        "</metadata>",
        "</newsitem>",
    ]
    return "\n".join(lines) + "\n"


def code_list(name: str, codes: list[str], date: str) -> list[str]:
    lines = [f'<codes class="{name}">']
    for code in codes:
        lines += [
            f'  <code code="{code}">',
            f'    <editdetail attribution="Sample" action="confirmed" date="{date}"/>',
            "  </code>",
        ]
    return [*lines, "</codes>"]


def write(root: Path, seed: int) -> None:
    for lang, first in (("en", 2286), ("de", 52286)):
        folder = root / "reuters" / lang
        folder.mkdir(parents=True)
        rng = Random(f"news {lang} {seed}")
        for item in range(first, first + STORIES):
            (folder / f"{item}newsML.xml").write_bytes(story(rng, lang, item).encode("iso-8859-1"))
