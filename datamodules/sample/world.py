"""The same verses in twenty-four languages of eight families, and what is known of the languages: `world/`.

A verse is a row of concepts, and a language has a word for each. A family has words of its own; sounds shift and words
are replaced in its two branches and again in each language. Half of the families put the verb last. So relatives have
words in common, and verbs in the same place.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random

FAMILIES = ("Aru", "Belm", "Chor", "Dovi", "Eska", "Fenn", "Gard", "Hilo")
BRANCHES = (("North", "East"), ("South",))  # and the languages of each
THINGS, DEEDS = 50, 20  # concepts
VERSES = 400
CONSONANTS = "bdfgklmnprstvz"
VOWELS = "aeiou"
REPLACED = 0.12  # words that a branch has not inherited, and again a language
SHIFTS = 2  # sounds that change in a branch, and again in a language


@dataclass(frozen=True)
class Language:
    iso: str
    name: str
    family: str
    branch: str
    words: tuple[str, ...]  # of each concept
    verb_last: bool


def word(rng: Random, sounds: str) -> str:
    return "".join(rng.choice(sounds) + rng.choice(VOWELS) for _ in range(rng.choice((2, 2, 3))))


def descended(words: tuple[str, ...], rng: Random, sounds: str) -> tuple[str, ...]:
    """The words of a daughter: some are replaced, and some consonants have become others in all words."""
    kept = [word(rng, sounds) if rng.random() < REPLACED else one for one in words]
    shift = str.maketrans({rng.choice(CONSONANTS): rng.choice(CONSONANTS) for _ in range(SHIFTS)})
    return tuple(one.translate(shift) for one in kept)


def languages(seed: int) -> list[Language]:
    found = []
    for f, stem in enumerate(FAMILIES):
        rng = Random(f"world {seed} {stem}")
        sounds = "".join(rng.sample(CONSONANTS, 9))
        family = tuple(word(rng, sounds) for _ in range(THINGS + DEEDS))
        for which, members in enumerate(BRANCHES):
            branch = descended(family, rng, sounds)
            for member in members:
                iso = f"{stem[:2].lower()}{member[0].lower()}"
                words = descended(branch, rng, sounds)
                found.append(Language(iso, f"{member} {stem}", f"{stem}ic", f"{stem}ic {which + 1}", words, f % 2 == 0))
    return found


def verses(seed: int) -> list[list[tuple[int, int, int]]]:
    """Two or three clauses each: who does what to whom. Some concepts are commoner than others."""
    rng = Random(f"world {seed} verses")

    def some(first: int, many: int) -> int:
        return first + min(rng.randrange(many), rng.randrange(many))

    return [
        [(some(0, THINGS), some(THINGS, DEEDS), some(0, THINGS)) for _ in range(rng.choice((2, 3)))]
        for _ in range(VERSES)
    ]


def told(language: Language, verse: list[tuple[int, int, int]]) -> str:
    order = (0, 2, 1) if language.verb_last else (0, 1, 2)
    return ", ".join(" ".join(language.words[clause[i]] for i in order) for clause in verse) + "."


def write(root: Path, seed: int) -> None:
    folder = root / "world"
    (folder / "rivals").mkdir(parents=True)
    found, said = languages(seed), verses(seed)
    rng = Random(f"world {seed} rivals")
    texts = [f"{a.iso}\tACT {v + 1}:1\t{told(a, verse)}" for a in found for v, verse in enumerate(said)]
    known = [f"{a.iso}\t{a.name}\t{a.family}\t{a.branch}\t{a.family} > {a.branch} > {a.name}" for a in found]
    grammar = [f"{a.iso}\t{int(a.verb_last)}\t{int(not a.verb_last)}" for a in found]
    vectors = [
        "\t".join([a.iso, *(f"{(f == a.family[:-2]) + rng.gauss(0, 0.3):.4f}" for f in FAMILIES)]) for a in found
    ]
    for name, header, lines in (
        ("texts.tsv", "iso\tverse\ttext", texts),
        ("languages.tsv", "iso\tname\tfamily\tbranch_id\tpath", known),
        ("typology.tsv", "iso\tS_VERB_LAST\tS_OBJECT_LAST", grammar),
        ("rivals/planted.tsv", "\t".join(["iso", *(f"d{i}" for i in range(len(FAMILIES)))]), vectors),
    ):
        (folder / name).write_text("\n".join([header, *lines]) + "\n", encoding="utf-8", newline="\n")
