"""Reviewers of one field or two, their papers, submissions and ratings: tables under `reviewers/`.

A paper is of one field, whose words it has among those that all papers have. The first half of the reviewers write in
one field, the others in two. They rate submissions of their fields high and others low, so fields alone decide.
`FIELDS` and `interests` say what was planted.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

from datamodules.sample.letters import save

FIELDS = {
    "rivers": "river delta silt flood basin current sediment estuary",
    "bells": "bell bronze chime tower clapper toll peal casting",
    "moths": "moth wing antenna larva pupa pheromone dusk lantern",
    "ledgers": "ledger debit credit audit invoice merchant balance tariff",
    "glaciers": "glacier moraine crevasse firn ablation snowfield icefall meltwater",
    "looms": "loom warp weft shuttle yarn heddle weaver fabric",
}
COMMON = ("method", "model", "result", "problem", "measure", "theory", "case", "effect", "study", "question")
FRAMES = (
    "we study the {a} of the {b} and the {c} .",
    "a {d} of {a} is given by the {b} .",
    "the {d} shows that every {a} has a {c} .",
    "for the {d} of {b} we use a {a} .",
)
REVIEWERS = 12
PAPERS = 8  # of each
SUBMISSIONS = 48
RATED = 10  # by each


def interests(reviewer: int) -> list[str]:
    """The first half have one field each, the others two."""
    names, half = list(FIELDS), REVIEWERS // 2
    first = names[reviewer % len(names)]
    return [first] if reviewer < half else [first, names[(reviewer + 2) % len(names)]]


def paper(field: str, rng: Random) -> tuple[str, str]:
    """Title and abstract."""
    words = FIELDS[field].split()
    title = f"on the {rng.choice(words)} and its {rng.choice(COMMON)}"
    sentences = []
    for _ in range(6):
        a, b, c = rng.sample(words, 3)
        sentences.append(rng.choice(FRAMES).format(a=a, b=b, c=c, d=rng.choice(COMMON)))
    return title, " ".join(sentences)


def expertise(field: str, reviewer: int, rng: Random) -> float:
    return rng.choice((4.0, 4.5, 5.0) if field in interests(reviewer) else (1.0, 1.5, 2.0))


def write(root: Path, seed: int) -> None:
    folder = root / "reviewers"
    folder.mkdir(parents=True)
    rng = Random(f"reviewers {seed}")
    names = [f"reviewer {chr(ord('A') + i)}" for i in range(REVIEWERS)]
    written = []
    for r, name in enumerate(names):
        fields = interests(r)
        written += [(name, *paper(fields[i % len(fields)], rng)) for i in range(PAPERS)]
    fields = [rng.choice(list(FIELDS)) for _ in range(SUBMISSIONS)]
    submitted = [(f"s{i:02}", *paper(field, rng)) for i, field in enumerate(fields)]
    rated = [
        (name, f"s{i:02}", str(expertise(fields[i], r, rng)))
        for r, name in enumerate(names)
        for i in sorted(rng.sample(range(SUBMISSIONS), RATED))
    ]
    save(folder / "reviewers.csv", ("reviewer", "title", "abstract"), written)
    save(folder / "papers.csv", ("id", "title", "abstract"), submitted)
    save(folder / "ratings.csv", ("reviewer", "id", "expertise"), rated)
