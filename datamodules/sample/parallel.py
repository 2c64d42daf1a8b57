"""Speeches of a parliament, line-aligned, English beside German, French, Czech and Slovak; and sorted by topic.

Files: Europarl's (running text), a monolingual file for Czech and Slovak (tokenised), SIB-200's tables.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

from datamodules.sample.translation import LANGUAGES, Sentence, dictionary, draw, running_text

PAIRS = {"train": 2500, "dev": 150, "test": 150}  # sentences of each language pair
MONOLINGUAL = 1500
ITEMS = {"train": 210, "dev": 35, "test": 70}  # of SIB-200, the same ones in every language
CATEGORIES = {
    "science": "science/technology", "travel": "travel", "politics": "politics", "sports": "sports",
    "health": "health", "entertainment": "entertainment", "geography": "geography",
}  # fmt: skip


def speech(rng: Random, count: int) -> list[Sentence]:
    domains = dictionary().domains
    return [draw(rng, rng.choice(domains)) for _ in range(count)]


def text(sentence: Sentence, lang: str) -> str:
    return running_text(sentence.say(lang), lang)


def save(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def write_europarl(root: Path, seed: int) -> None:
    folder = root / "parallel" / "europarl"
    folder.mkdir(parents=True)
    for other in LANGUAGES[1:]:
        rng = Random(f"europarl {other} {seed}")
        for split, count in PAIRS.items():
            sentences = speech(rng, count)
            for lang in ("en", other):
                save(folder / f"{split}.en-{other}.{lang}", [text(s, lang) for s in sentences])


def write_monolingual(root: Path, seed: int) -> None:
    folder = root / "monolingual"
    folder.mkdir(parents=True)
    for lang in ("cs", "sk"):
        sentences = speech(Random(f"monolingual {lang} {seed}"), MONOLINGUAL)
        save(folder / f"{lang}.txt", [" ".join(s.say(lang)) for s in sentences])


def write_topics(root: Path, seed: int) -> None:
    folder = root / "crosslingual" / "sib200"
    folder.mkdir(parents=True)
    rng, index = Random(f"topics {seed}"), 0
    for split, count in ITEMS.items():
        items = []
        for _ in range(count):
            domain = rng.choice(list(CATEGORIES))
            items.append((index, CATEGORIES[domain], [draw(rng, domain) for _ in range(rng.randrange(1, 3))]))
            index += 1
        for lang in LANGUAGES:
            rows = [f"{i}\t{category}\t{' '.join(text(s, lang) for s in said)}" for i, category, said in items]
            save(folder / f"{lang}.{split}.tsv", ["index_id\tcategory\ttext", *rows])
