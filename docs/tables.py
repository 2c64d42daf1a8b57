"""Tables of texts and attributes made from the corpora of docs/data.md: those that results with data=table are of.

    python docs/tables.py FOLDER [--data DATA]    DATA: where the corpora are, by default the environment's ATD_DATA

writes bible.csv (verses by book), blogs.csv (15,000 posts by gender, age and industry), authors.csv (6,000 posts by the
fifty bloggers who wrote most) and known_authors.csv (posts by 200 bloggers with gender, age and industry), each as far
as its corpus is there.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

Row = Sequence[object]


def bible(data: Path) -> Iterable[Row]:
    yield "text", "book"
    with gzip.open(data / "parallel/bible/en.tsv.gz", "rt", encoding="utf-8") as file:
        for line in file:
            verse, text = line.rstrip("\n").split("\t", 1)
            yield text, verse.split(".")[0]


def blogs(data: Path, posts: int = 15000) -> Iterable[Row]:
    authors = {author["id"]: author for author in tab_separated(data / "blogs/authors.tsv.gz")}
    rows = []
    for post in tab_separated(data / "blogs/rest_posts.tsv.gz"):
        author = authors[post["id"]]
        rows.append((post["text"], author["gender"], decade(author), author["industry"]))
    random.Random(1).shuffle(rows)
    return [("text", "gender", "age", "industry"), *rows[:posts]]


def authors(data: Path, posts: int = 6000) -> Iterable[Row]:
    import pyarrow.parquet as parquet

    table = parquet.read_table(data / "authors/blogs50.parquet", columns=["text", "author"]).to_pylist()
    return [("text", "author"), *((row["text"], row["author"]) for row in random.Random(1).sample(table, posts))]


def known_authors(data: Path, authors: int = 200) -> Iterable[Row]:
    """Posts of Blog-1K by some of its authors, those who share a blog left out, and what is known of them."""
    import pyarrow.parquet as parquet

    known = {author["id"]: author for author in tab_separated(data / "blogs/authors.tsv.gz")}
    with (data / "authors/blog1k_twins.tsv").open(encoding="utf-8") as file:
        twins = {name for line in file for name in line.split("\t")[:2]}
    posts = parquet.read_table(data / "authors/blog1k.parquet").to_pylist()
    names = sorted({post["author"] for post in posts} - twins)
    chosen = set(random.Random(1).sample(names, authors))
    yield "split", "text", "author", "gender", "age", "industry"
    for post in posts:
        if post["author"] in chosen:
            one = known[post["author"]]
            yield post["split"], post["text"], post["author"], one["gender"], decade(one), one["industry"]


def decade(author: dict[str, str]) -> str:
    years = int(author["age"])
    return "10s" if years < 20 else "20s" if years < 30 else "30s"


def tab_separated(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("ATD_DATA", "data")))
    said = parser.parse_args()
    said.folder.mkdir(parents=True, exist_ok=True)
    for make in (bible, blogs, authors, known_authors):
        path = said.folder / f"{make.__name__}.csv"
        try:
            rows = list(make(said.data))
        except FileNotFoundError as error:
            print(f"{path.name}: left out, there is no {error.filename}")
            continue
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)
        print(f"{path}: {len(rows) - 1:,} rows")


if __name__ == "__main__":
    main()
