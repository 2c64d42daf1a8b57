"""Eight books by four authors, two each: plain text as in NLTK's Gutenberg selection.

The two books of an author share a lexicon (`lexicon/<author>.txt`); each has its own people, places and tastes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from datamodules.sample.grammar import Voice
from datamodules.sample.lexicon import Lexicon, Tagged
from datamodules.sample.rendering import paragraph

WORDS = 16_000  # with punctuation
CHAPTER_WORDS = 1_000


@dataclass(frozen=True)
class Book:
    name: str
    group: str  # the lexicon: what the two books of a pair share
    title: str
    names: dict[str, str]
    scenes: str  # those named first are the commonest


BOOKS = [
    Book(
        "harland-harbour", "sea", "The North Harbour by Edmund Harland 1851",
        {"man": "Captain_Marsh Mr._Dunn Silas Joel_Tarn Mr._Pike Peter", "woman": "Hannah Mrs._Tarn",
         "ship": "Petrel Good_Intent", "place": "Skerry_Head Orlin Gull_Island"},
        "loading landfall passage storm battle chase northward",
    ),
    Book(
        "harland-narwhal", "sea", "The Voyage of the Narwhal by Edmund Harland 1854",
        {"man": "Captain_Thorne Mr._Ames Olaf Jem_Barrow Doctor_Finch Kit", "woman": "Ingrid Mrs._Ames",
         "ship": "Narwhal Constance", "place": "Cape_Farrow Vessen Bleak_Sound"},
        "northward chase storm landfall passage loading battle",
    ),
    Book(
        "scroll-ashem", "scripture", "The Scroll of Ashem",
        {"man": "Ashem Jorab Tamuel Heliab Osir Maddan", "woman": "Shelah Noemar",
         "people": "Ashem Jorab", "land": "Kedron Baal-tir Haramon"},
        "worship war lineage rebuke blessing harvest wisdom",
    ),
    Book(
        "scroll-tirzan", "scripture", "The Scroll of Tirzan",
        {"man": "Tirzan Eliphal Barukel Zephon Amriah Jothan", "woman": "Mirab Adasha",
         "people": "Tirzan Zephon", "land": "Gilmoth Arabel Shurim"},
        "wisdom blessing harvest rebuke worship lineage war",
    ),
    Book(
        "merrow-ashcombe", "parlour", "Ashcombe Park by Charlotte Merrow 1814",
        {"man": "Mr._Selwyn Sir_Walter_Brook Edward Mr._Tilling Frederick",
         "woman": "Miss_Lovell Mrs._Selwyn Harriet Lady_Brook Caroline", "house": "Ashcombe Brookfield"},
        "visit courtship evening walk settlement reflection toilette",
    ),
    Book(
        "merrow-constancy", "parlour", "Constancy by Charlotte Merrow 1818",
        {"man": "Captain_Hale Mr._Dacre Lord_Winslow Henry Mr._Perrin",
         "woman": "Miss_Dacre Mrs._Hale Louisa Lady_Winslow Sophia", "house": "Winslow_Abbey Hale_Lodge"},
        "reflection settlement toilette evening courtship visit walk",
    ),
    Book(
        "quill-lamp", "detective", "The Lamp in Garnet Street by J. T. Quill 1909",
        {"man": "Inspector_Grice Doctor_Vane Lomax Mr._Sheldrake Simon_Pell",
         "woman": "Mrs._Orme Miss_Vane", "street": "Garnet_Street Holland_Row"},
        "night search study robbery enquiry arrest smoking",
    ),
    Book(
        "quill-cipher", "detective", "The Cipher of Dock Lane by J. T. Quill 1911",
        {"man": "Sergeant_Bolt Professor_Kerr Mr._Ravel Tobias Jasper_Stone",
         "woman": "Madame_Ravel Miss_Fane", "street": "Dock_Lane Tanner_Square"},
        "study enquiry smoking arrest robbery search night",
    ),
]  # fmt: skip


def voice(book: Book) -> Voice:
    names = {key: value.split() for key, value in book.names.items()}
    scenes = {scene: 1 / (i + 2.5) for i, scene in enumerate(book.scenes.split())}
    return Voice(Lexicon("common", book.group), names, scenes, Random(f"taste {book.name}"))


def chapters(book: Book, seed: int) -> Iterator[list[list[list[Tagged]]]]:
    """Chapters of paragraphs of sentences of tagged tokens, `WORDS` in all."""
    author, rng = voice(book), Random(f"{book.name} {seed}")
    words = 0
    while words < WORDS:
        chapter, start = [], words
        while words - start < CHAPTER_WORDS:
            author.turn_to(rng)
            length = rng.randrange(1, 3) if book.group == "scripture" else rng.randrange(2, 7)
            chapter.append([author.say() for _ in range(length)])
            words += sum(len(tokens) for tokens in chapter[-1])
        yield chapter


def roman(number: int) -> str:
    tens, ones = divmod(number, 10)
    return "X" * tens + ["", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"][ones]


def text(book: Book, seed: int) -> str:
    parts = [f"[{book.title}]\n"]
    for number, chapter in enumerate(chapters(book, seed), 1):
        parts.append(f"\nCHAPTER {roman(number)}\n")
        for i, sentences in enumerate(chapter, 1):
            lead = f"{number}:{i} " if book.group == "scripture" else ""
            parts.append(paragraph(sentences, lead) + "\n")
    return "\n".join(parts)


def write(root: Path, seed: int) -> None:
    folder = root / "gutenberg"
    folder.mkdir(parents=True)
    for book in BOOKS:
        (folder / f"{book.name}.txt").write_text(text(book, seed), encoding="utf-8", newline="\n")
