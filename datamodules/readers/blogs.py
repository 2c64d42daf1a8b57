"""The Blog Authorship Corpus (Schler et al. 2006): posts with their author's gender, age and industry.

Accepted under the data folder, the first that is there:
- `blogs/authors.tsv` and `blogs/*posts*.tsv`, plain or gzip, each with a header line (id, gender, age,
  industry, sign, posts_total, …; id, date, text);
- `blogs/blogtext.csv` or `blogtext.csv`, plain or gzip: Kaggle's table (id, gender, age, topic, sign, date,
  text);
- `blogs/`, `blogs.zip` or `blogs/blogs.zip`: the release of 2006, `id.gender.age.industry.sign.xml` files.

The whole corpus is 681,288 posts and 800 MB: `post_batches` streams it; `read_blogs` gathers what one asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from atd.errors import AtdError
from datamodules.readers.blog_formats import KaggleTable, SampleTables, XmlFiles

POSTS = pa.schema(
    {
        "author": pa.int64(),
        "gender": pa.string(),
        "age": pa.int32(),
        "age_group": pa.string(),  # 10s, 20s, 30s (30 and over)
        "industry": pa.string(),  # lower case; `indunk` where unknown
        "date": pa.string(),  # as written: 31,May,2004
        "text": pa.string(),  # runs of white space made one space
    }
)


def find_blogs(data_dir: str | Path) -> SampleTables | KaggleTable | XmlFiles:
    """The form in which the corpus is here; `.paths` are its files."""
    for form in (SampleTables, KaggleTable, XmlFiles):
        if found := form.find(Path(data_dir)):
            return found
    raise AtdError(
        f"{Path(data_dir) / 'blogs'}: no Blog Authorship Corpus; get it from its authors "
        "(u.cs.biu.ac.il/~koppel/BlogCorpus.htm) or as blogtext.csv from Kaggle, and put blogs.zip, its XML "
        "files or blogtext.csv there"
    )


def read_authors(data_dir: str | Path) -> pa.Table:
    """Table(author, gender, age, age_group, industry, sign, posts), by id; posts counts all there were."""
    return _with_age_group(find_blogs(data_dir).authors()).sort_by("author")


def post_batches(data_dir: str | Path, authors: pa.Array | None = None) -> Iterator[pa.RecordBatch]:
    """All posts, or those of the given author ids, as record batches of schema POSTS in a fixed order."""
    for batch in find_blogs(data_dir).batches(authors):
        table = pa.table(batch)
        if authors is not None:
            table = table.filter(pc.is_in(table["author"], value_set=authors))
        words = pc.ascii_split_whitespace(table["text"])  # three times as fast as a regular expression
        text = pc.utf8_trim_whitespace(pc.binary_join(words, " "))
        table = table.set_column(table.column_names.index("text"), "text", text)
        yield from _with_age_group(table).select(POSTS.names).cast(POSTS).to_batches()


def read_blogs(data_dir: str | Path, authors: pa.Array | None = None) -> pa.Table:
    """Table of schema POSTS: all posts, or those of the given author ids."""
    return pa.Table.from_batches(post_batches(data_dir, authors), POSTS)


def prolific(authors: pa.Table, n: int = 1000) -> pa.Array:
    """Ids of the n authors with most posts, ties to the lower id, by id."""
    order = pc.sort_indices(authors, [("posts", "descending"), ("author", "ascending")])
    return authors["author"].take(order[:n]).combine_chunks().sort()


def attribute_names(table: pa.Table) -> pa.ChunkedArray:
    """gender/age group/industry of each row, e.g. `female/10s/student`."""
    return pc.binary_join_element_wise(table["gender"], table["age_group"], table["industry"], "/")


def _with_age_group(table: pa.Table) -> pa.Table:
    age = table["age"]
    group = pc.if_else(pc.less(age, 20), "10s", pc.if_else(pc.less(age, 30), "20s", "30s"))
    return table.add_column(table.column_names.index("age") + 1, "age_group", group)
