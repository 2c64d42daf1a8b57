"""Blogs in the XML files of the Blog Authorship Corpus, `id.gender.age.industry.sign.xml`, one per author.

Industry sets the topics, age the slang, gender whom one writes about; each author has friends, pastimes and
tastes of their own. A few authors write most of the posts.
"""

from __future__ import annotations

from copy import copy
from functools import cache
from pathlib import Path
from random import Random
from xml.sax.saxutils import escape

from datamodules.sample.grammar import Voice
from datamodules.sample.lexicon import Lexicon
from datamodules.sample.rendering import capitalised, sentence

AUTHORS = 120
PROLIFIC = 20  # of the authors: those with most posts
AGES = {"10": (13, 18), "20": (23, 28), "30": (33, 49)}
INDUSTRIES = ("Student", "Technology", "Education", "Arts", "Religion", "Law", "Banking", "indUnk")
SIGNS = ("Aries", "Taurus", "Gemini", "Cancer", "Leo", "Virgo", "Libra", "Scorpio", "Sagittarius", "Capricorn",
         "Aquarius", "Pisces")  # fmt: skip
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August")
FRIENDS = (
    "Abby Alex Ben Beth Chris Cody Dana Emma Evan Greg Ivy Jake Jen Josh Kyle Liz Matt Meg Mike Nina Ryan Sara Tom Zack"
)
PASTIMES = (
    "badminton baking banjo bonsai bowling camping chess crochet cycling fishing golf hiking hockey jazz jogging "
    "karate knitting model_trains opera origami poetry poker pottery sailing skating soccer swimming tennis yoga"
)


@cache
def lexicon() -> Lexicon:
    return Lexicon("blogs")


def blogger(rng: Random, gender: str, age: str, industry: str) -> Voice:
    """The voice of one author: the rules of their age and gender take the plain names `open`, `kin` and so on."""
    own = copy(lexicon())
    rules = dict(own.rules)
    for name, options in own.rules.items():
        stem, _, group = name.partition(".")
        if group in (age, f"{gender}.{age}"):
            rules[stem] = options
    own.rules = {name: options for name, options in rules.items() if name[-1].isalpha()}
    friends = rng.sample(FRIENDS.split(), 4)
    names = {"man": friends, "woman": friends, "friend": friends}
    voice = Voice(own, names, {industry: 1.0}, rng)
    pets = rng.sample(PASTIMES.split(), 3)
    voice.names["pet"] = voice.ranked([[(w, "NN") for w in pet.split("_")] for pet in pets])
    return voice


def post(voice: Voice, rng: Random, teen: bool) -> str:
    voice.turn_to(rng)
    sentences = [capitalised(voice.say()) for _ in range(rng.randrange(2, 6))]
    text = " ".join(sentence(tokens) for tokens in sentences)
    return text.lower() if teen else text


def blog(rng: Random, number: int) -> tuple[str, str]:
    """File name and content of the blog of the author with that number."""
    gender, age = ("male", "female")[number % 2], list(AGES)[number // 2 % 3]
    industry = "Student" if age == "10" and rng.random() < 0.6 else rng.choice(INDUSTRIES)
    years = rng.randrange(*AGES[age])
    voice = blogger(rng, gender, age, industry)
    parts = ["<Blog>\n"]
    posts = rng.randrange(28, 36) if number < PROLIFIC else rng.randrange(4, 9)
    for i in range(posts):
        date = f"{rng.randrange(1, 29):02},{MONTHS[i * len(MONTHS) // posts]},2004"
        parts.append(f"<date>{date}</date>\n<post>\n\n\n     {escape(post(voice, rng, age == '10'))}\n\n\n</post>\n")
    name = f"{1_000_331 + 7919 * number}.{gender}.{years}.{industry}.{rng.choice(SIGNS)}.xml"
    return name, "\n".join([*parts, "</Blog>\n"])


def write(root: Path, seed: int) -> None:
    folder = root / "blogs"
    folder.mkdir(parents=True)
    for number in range(AUTHORS):
        name, content = blog(Random(f"blog {number} {seed}"), number)
        (folder / name).write_text(content, encoding="utf-8", newline="\n")
