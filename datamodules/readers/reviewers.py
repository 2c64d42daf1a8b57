"""Reviewers with papers of theirs, and submissions to be matched with them: tables of one's own, or the gold standard.

- Tables, in any format of `data=table`. Reviewers: a row for each reviewer and paper of his. Submissions: a row each,
  with an id. Ratings, if there are any: reviewer, submission and how much of an expert he is.
- The gold standard (Stelmakh et al., arXiv 2303.16750), a folder: `papers.jsonl.gz` (id, title, abstract),
  `profiles.jsonl.gz` (reviewer, and in `d_20` his papers in each of ten versions), `ratings.tsv` (reviewer, paper,
  expertise), and perhaps `fulltexts.parquet` (id, text) and `rival_scores.parquet` (`<system>_<version>`, what other
  systems predict for the rated pairs).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atd.errors import AtdError
from atd.table_files import read_columns
from datamodules.readers.files import Place, find
from datamodules.readers.table import read_table

GOLD = ("papers.jsonl", "profiles.jsonl", "ratings.tsv")
FULLTEXTS, RIVALS = "fulltexts.parquet", "rival_scores.parquet"


@dataclass(frozen=True)
class Columns:
    """Names of the columns of tables."""

    reviewer: str
    title: str | None
    text: str
    id: str
    expertise: str


@dataclass
class Pool:
    """Papers once each, by number, and who wrote, submitted and rated which."""

    titles: list[str]
    texts: list[str]  # title and abstract
    reviewers: list[str]
    versions: list[list[list[int]]]  # in each version of the profiles: of each reviewer, his papers
    submissions: list[int]
    ids: list[str]  # of the submissions
    ratings: list[tuple[int, int, float]] = field(default_factory=list)  # reviewer, submission (its place), expertise
    rivals: dict[str, list[list[float]]] = field(default_factory=dict)  # system: version: a score for every rating
    fulltexts: list[str] = field(default_factory=list)


def read_tables(reviewers: Path, papers: Path, ratings: Path | None, names: Columns) -> Pool:
    """Tables of one's own. A paper that several reviewers have, or that is also submitted, is one paper."""
    titles = [names.title] if names.title else []
    written = read_table(reviewers, names.text, [names.reviewer, *titles]).to_pydict()
    submitted = read_table(papers, names.text, [names.id, *titles]).to_pydict()
    texts: dict[str, int] = {}
    shown: list[str] = []

    def number(title: str | None, abstract: str) -> int:
        text = f"{title}. {abstract}" if title else abstract
        if text not in texts:
            texts[text] = len(texts)
            shown.append(title or abstract)
        return texts[text]

    def numbers(table: Mapping[str, Sequence[Any]]) -> list[int]:
        known = table[names.title] if names.title else [None] * len(table["text"])
        return [number(title, text) for title, text in zip(known, table["text"], strict=True)]

    profiles: dict[str, list[int]] = {}
    for row, (reviewer, paper) in enumerate(zip(written[names.reviewer], numbers(written), strict=True), start=1):
        if reviewer is None:
            raise AtdError(f"{reviewers}: row {row} has no {names.reviewer!r}; fill it in or remove the row")
        profiles.setdefault(reviewer, []).append(paper)
    if len(profiles) < 2:
        raise AtdError(f"{reviewers}: all papers are by one reviewer; a match needs two at least")
    submissions = numbers(submitted)
    ids = submitted[names.id]
    check_ids(papers, names.id, ids)
    people = list(profiles)
    rated = [] if ratings is None else read_ratings(ratings, names, people, ids)
    versions = [[sorted({*profiles[name]}) for name in people]]
    return Pool(shown, list(texts), people, versions, submissions, ids, rated)


def check_ids(path: Path, column: str, ids: Sequence[str | None]) -> None:
    seen: set[str | None] = {None}
    for row, name in enumerate(ids, start=1):
        if name in seen:
            problem = "has no" if name is None else f"repeats {name!r} in"
            raise AtdError(f"{path}: row {row} {problem} {column!r}; every submission needs an id of its own")
        seen.add(name)


def read_ratings(path: Path, names: Columns, reviewers: list[str], ids: list[str]) -> list[tuple[int, int, float]]:
    """(reviewer, place of the submission, expertise) of every row."""
    table = read_columns(path, [names.reviewer, names.id, names.expertise])
    at = {name: i for i, name in enumerate(reviewers)}, {name: i for i, name in enumerate(ids)}
    found = []
    for row, (reviewer, paper, expertise) in enumerate(zip(*table.values(), strict=True), start=1):
        for name, known, what in ((reviewer, at[0], "reviewer"), (paper, at[1], "submission")):
            if str(name) not in known:
                raise AtdError(f"{path}: row {row} names the {what} {name!r}, whom no other table has")
        try:
            found.append((at[0][str(reviewer)], at[1][str(paper)], float(expertise)))
        except (TypeError, ValueError):
            raise AtdError(f"{path}: row {row}: {names.expertise!r} is {expertise!r}, not a number") from None
    return found


def find_gold(folder: Path) -> list[Path]:
    """The files of the gold standard."""
    places = [find(folder / name) for name in GOLD]
    if None in places:
        fix = "name tables of your own (data.reviewers, data.papers) or set data.path"
        raise AtdError(f"{folder}: no gold standard of reviewers here (looked for {', '.join(GOLD)}); {fix}")
    places += [find(folder / name) for name in (FULLTEXTS, RIVALS)]
    return [place.path for place in places if place is not None]


def read_gold(folder: Path) -> Pool:
    papers, profiles, ratings, *others = (Place(path) for path in find_gold(folder))
    rows = list(records(papers, ("id", "title", "abstract", "submission")))
    at = {row["id"]: i for i, row in enumerate(rows)}
    people = list(records(profiles, ("reviewer", "d_20")))
    submissions = [i for i, row in enumerate(rows) if row["submission"]]
    ids = [rows[i]["id"] for i in submissions]
    names = [str(row["reviewer"]) for row in people]
    try:
        count = len(people[0]["d_20"])
        versions = [[[at[p] for p in row["d_20"][str(k)]] for row in people] for k in range(1, count + 1)]
    except (KeyError, TypeError, AttributeError) as error:
        raise profiles.error(f"d_20 has no {error} or names no paper; fetch the file again") from None
    columns = Columns("reviewer", "title", "abstract", "paper", "expertise")
    pool = Pool(
        titles=[row["title"] for row in rows],
        texts=[f"{row['title']}. {row['abstract'] or ''}" for row in rows],
        reviewers=names,
        versions=versions,
        submissions=submissions,
        ids=ids,
        ratings=read_ratings(ratings.path, columns, names, ids),
    )
    for place in others:
        if place.name == FULLTEXTS:
            pool.fulltexts = parquet(place)["text"]
        else:
            pool.rivals = rivals_of(place, pool)
    return pool


def records(place: Place, keys: Iterable[str]) -> Iterable[dict[str, Any]]:
    for number, line in enumerate(place.text().splitlines(), start=1):
        try:
            row = json.loads(line)
            missing = [key for key in keys if key not in row]
        except (ValueError, TypeError):
            raise place.error("not a JSON object; fetch the file again", number) from None
        if missing:
            raise place.error(f"the object has no {missing[0]!r}; fetch the file again", number)
        yield row


def parquet(place: Place) -> dict[str, list[Any]]:
    import pyarrow as pa
    import pyarrow.parquet as files

    try:
        return files.read_table(place.path).to_pydict()
    except (pa.ArrowException, OSError) as error:
        raise place.error(f"not readable as Parquet ({error}); fetch it again") from None


def rivals_of(place: Place, pool: Pool) -> dict[str, list[list[float]]]:
    """What other systems predict for every rated pair, in the order of the ratings, in each version."""
    table = parquet(place)
    row = {(str(r), p): i for i, (r, p) in enumerate(zip(table["reviewer"], table["paper"], strict=True))}
    order = [row[pool.reviewers[r], pool.ids[p]] for r, p, _ in pool.ratings]
    systems = dict.fromkeys(name.rpartition("_")[0] for name in table if name.endswith("_1"))
    found = {}
    for system in systems:
        columns = [table[f"{system}_{k}"] for k in range(1, len(pool.versions) + 1)]
        found[system] = [[column[i] for i in order] for column in columns]
    return found
