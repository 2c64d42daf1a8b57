"""Sentences in five languages at once: a dictionary with genders and cases, and sentence forms side by side.

A sentence is drawn as a form, nouns with or without adjectives, verbs and an adverb of one domain, and then said in
any of the languages with the articles, endings and order that language asks for.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from random import Random

from datamodules.sample.lexicon import FOLDER

LANGUAGES = ("en", "de", "fr", "cs", "sk")
Word = dict[str, list[str]]  # language → forms, a noun's gender first
CASES = {"n": 0, "g": 1, "a": 2}

ARTICLES = {
    "de": {"n": {"m": "der", "f": "die", "n": "das"}, "g": {"m": "des", "f": "der", "n": "des"},
           "a": {"m": "den", "f": "die", "n": "das"}},
    "fr": {"n": {"m": "le", "f": "la"}, "g": {"m": "du", "f": "de la"}, "a": {"m": "le", "f": "la"}},
}  # fmt: skip
ENDINGS = {  # by the masculine ending, case and gender; the rest of the adjective is its stem
    "de": {"": {"n": "e e e e", "g": "en en en en", "a": "en en e e"}},
    "cs": {"ý": {"n": "ý ý á é", "g": "ého ého é ého", "a": "ý ého ou é"},
           "í": {"n": "í í í í", "g": "ího ího í ího", "a": "í ího í í"}},
    "sk": {"ý": {"n": "ý ý á é", "g": "ého ého ej ého", "a": "ý ého ú é"},
           "y": {"n": "y y a e", "g": "eho eho ej eho", "a": "y eho u e"}},
}  # fmt: skip
RELATIVES = {
    "de": {"m": "der", "f": "die", "n": "das"},
    "cs": {"m": "který", "a": "který", "f": "která", "n": "které"},
    "sk": {"m": "ktorý", "a": "ktorý", "f": "ktorá", "n": "ktoré"},
}


class Dictionary:
    """`words[kind][domain]` of lexicon/parallel.txt; the domain `union` goes with every other."""

    def __init__(self) -> None:
        self.words: dict[str, dict[str, list[Word]]] = defaultdict(lambda: defaultdict(list))
        for line in (FOLDER / "parallel.txt").read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                head, _, body = line.partition(": ")
                kind, domain = head.split(" ")
                columns = [column.split() for column in re.split(r" \| ", body)]
                self.words[kind][domain].append(dict(zip(LANGUAGES, columns, strict=True)))
        self.domains = [domain for domain in self.words["noun"] if domain != "union"]


@cache
def dictionary() -> Dictionary:
    return Dictionary()


@dataclass(frozen=True)
class Phrase:
    """A noun with perhaps an adjective, definite."""

    noun: Word
    adjective: Word | None

    def gender(self, lang: str) -> str:
        return self.noun[lang][0]

    def say(self, lang: str, case: str) -> str:
        if lang == "en":
            adjective = f"{self.adjective['en'][0]} " if self.adjective else ""
            return f"the {adjective}{self.noun['en'][0]}"
        gender, *forms = self.noun[lang]
        noun = forms[CASES[case]] if len(forms) > CASES[case] else forms[0]
        if lang == "fr":
            article = ARTICLES["fr"][case][gender]
            if noun[0].lower() in "aeiouhéèêâîô":  # every h of the dictionary is mute
                article = "de l'" if case == "g" else "l'"
            adjective = f" {self.adjective['fr'][gender == 'f']}" if self.adjective else ""
            return f"{article}{'' if article.endswith(chr(39)) else ' '}{noun}{adjective}"
        parts = [ARTICLES["de"][case][gender]] if lang == "de" else []
        if self.adjective:
            parts.append(inflect(self.adjective[lang][0], lang, case, gender))
        return " ".join([*parts, noun])


def inflect(adjective: str, lang: str, case: str, gender: str) -> str:
    ending = "" if lang == "de" else adjective[-1]
    endings = ENDINGS[lang][ending][case].split()
    return adjective.removesuffix(ending) + endings["mafn".index(gender)]


@dataclass(frozen=True)
class Sentence:
    form: Word
    phrases: list[Phrase]
    verbs: list[Word]
    adverb: Word
    year: int
    amount: int

    def say(self, lang: str) -> list[str]:
        """Tokens, punctuation apart; a French article with an apostrophe stays on its noun."""
        text = " ".join(self.slot(token, lang) for token in self.form[lang])
        if lang == "fr":
            text = re.sub(r"\b([nd])e (?=[aeiouhéèêâîô])", r"\1'", text)
        return (text[0].upper() + text[1:]).split()

    def slot(self, token: str, lang: str) -> str:
        start, brace, rest = token.partition("{")
        if not brace:
            return str(self.amount) if token == "@" else token
        key = rest[:-1]
        if key[0].isdigit():
            phrase = self.phrases[int(key[0]) - 1]
            if key[1] == "r":
                return RELATIVES[lang][phrase.gender(lang)]
            return phrase.say(lang, key[1])
        if key == "t":
            return " ".join(self.adverb[lang])
        if key == "y":
            return str(self.year)
        return start + conjugate(self.verbs[key in "wj"][lang], lang, infinitive=key in "ij")


def conjugate(forms: list[str], lang: str, infinitive: bool) -> str:
    if lang != "en":
        return forms[infinitive]
    return forms[0] if infinitive else forms[0] + ("es" if forms[0].endswith(("s", "sh", "ch")) else "s")


def draw(rng: Random, domain: str) -> Sentence:
    """A sentence mostly of one domain."""
    words = dictionary().words
    phrases: list[Phrase] = []
    while len(phrases) < 4:
        chance = rng.random()
        source = "union" if chance < 0.2 else domain if chance < 0.82 else rng.choice(dictionary().domains)
        noun = rng.choice(words["noun"][source])
        if all(noun is not phrase.noun for phrase in phrases):
            adjective = rng.choice(words["adj"]["all"]) if rng.random() < 0.35 else None
            phrases.append(Phrase(noun, adjective))
    verbs = [rng.choice(words["verb"]["union" if rng.random() < 0.5 else domain]) for _ in range(2)]
    return Sentence(
        rng.choice(words["rule"]["all"]), phrases, verbs, rng.choice(words["adverb"]["all"]),
        rng.randrange(1990, 2012), rng.randrange(2, 90),
    )  # fmt: skip


def running_text(tokens: list[str], lang: str) -> str:
    """Punctuation goes to the word before it; French keeps a blank before a question mark."""
    marks = ",." if lang == "fr" else ",.?"
    return re.sub(rf" ([{marks}])", r"\1", " ".join(tokens))


def translations() -> dict[str, dict[str, str]]:
    """Language → {English word: its translation}, in the forms the sentences use most."""
    words = dictionary().words
    tables: dict[str, dict[str, str]] = {}
    for lang in LANGUAGES[1:]:
        table = tables[lang] = {}
        for nouns in words["noun"].values():
            table |= {noun["en"][0]: noun[lang][1] for noun in nouns}
        for verbs in words["verb"].values():
            for verb in verbs:
                third = conjugate(verb["en"], "en", infinitive=False)
                table |= {verb["en"][0]: verb[lang][1], third: verb[lang][0]}
        for adjective in words["adj"]["all"]:
            form = adjective[lang][0]
            table[adjective["en"][0]] = form + "e" if lang == "de" else form
        table |= {adverb["en"][0]: adverb[lang][0] for adverb in words["adverb"]["all"]}
    return tables
