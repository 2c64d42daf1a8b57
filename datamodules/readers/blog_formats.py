"""The three forms of the Blog Authorship Corpus, with the same two verbs: `authors()`, `batches(ids)`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from datamodules.readers.files import Place, check_text, check_values, counted, find, walk

AUTHORS = pa.schema(
    {
        "author": pa.int64(),
        "gender": pa.string(),
        "age": pa.int32(),
        "industry": pa.string(),
        "sign": pa.string(),
        "posts": pa.int64(),
    }
)
PERSON = ["author", "gender", "age", "industry", "sign"]
BATCH = 4000  # posts


@dataclass
class SampleTables:
    """`authors.tsv` with every author's total of posts, and tables with some of the posts."""

    people: Place
    posts: list[Place]

    @classmethod
    def find(cls, data_dir: Path) -> SampleTables | None:
        folder = data_dir / "blogs"
        posts = [Place(p) for p in sorted(folder.glob("*posts*.tsv*")) if p.name.endswith((".tsv", ".tsv.gz"))]
        people = find(folder / "authors.tsv")
        return cls(people, posts) if people and posts else None

    @property
    def paths(self) -> list[Path]:
        return [place.path for place in (self.people, *self.posts)]

    def authors(self) -> pa.Table:
        table = self.people.fields(["id", "gender", "age", "industry", "sign", "posts_total"], header=True)
        return _people(table.rename_columns(AUTHORS.names), self.people)

    def batches(self, ids: pa.Array | None) -> Iterator[pa.RecordBatch]:
        people = self.authors().select(PERSON)
        for place in self.posts:
            table = place.fields(["id", "date", "text"], header=True)
            author = _integers(table["id"], place, first_line=2)
            row = pc.index_in(author, value_set=people["author"].combine_chunks())
            if row.null_count:
                line = pc.index(pc.is_null(row), True).as_py()
                raise place.error(f"author {author[line]} is not in {self.people}", line + 2)
            person = people.take(row)
            columns = {name: person[name] for name in PERSON} | {"date": table["date"], "text": table["text"]}
            yield from pa.table(columns).to_batches(BATCH)


@dataclass
class KaggleTable:
    """`blogtext.csv`: one row per post, quoted, with line ends inside quotes; read as a stream of blocks."""

    place: Place

    @classmethod
    def find(cls, data_dir: Path) -> KaggleTable | None:
        place = find(data_dir / "blogs" / "blogtext.csv", data_dir / "blogtext.csv")
        return cls(place) if place else None

    @property
    def paths(self) -> list[Path]:
        return [self.place.path]

    def authors(self) -> pa.Table:
        batches = list(self.batches(None, columns=["id", "gender", "age", "topic", "sign"]))
        if not batches:
            raise self.place.error("a header but no rows; fetch the file again")
        people = pa.Table.from_batches(batches)
        counts = people.group_by(PERSON).aggregate([([], "count_all")])
        return counts.rename_columns(AUTHORS.names).cast(AUTHORS)

    def batches(self, ids: pa.Array | None, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        columns = columns or ["id", "gender", "age", "topic", "sign", "date", "text"]
        rows = 0
        try:
            with pa.input_stream(str(self.place.path)) as stream:  # unpacks .gz by its name
                reader = pyarrow.csv.open_csv(
                    stream,
                    pyarrow.csv.ReadOptions(block_size=4 << 20, use_threads=False),
                    pyarrow.csv.ParseOptions(newlines_in_values=True),
                    pyarrow.csv.ConvertOptions(
                        column_types=dict.fromkeys(columns, pa.string()), include_columns=columns
                    ),
                )
                for batch in counted(reader, "Reading blogs"):
                    table = pa.table(batch)
                    for name in columns:
                        check_values(table[name], self.place)
                    person = _people(table.rename_columns([*PERSON, *columns[5:]]), self.place, rows + 2)
                    rows += len(table)
                    yield from person.to_batches(BATCH)
        except (pa.ArrowException, KeyError, OSError) as e:
            what = " ".join(str(e).split())[:200]
            raise self.place.error(f"not the corpus table after row {rows} ({what}); fetch it again") from e


@dataclass
class XmlFiles:
    """One file per author: dates and posts between tags, but no XML parser would take them.

    Posts hold bare & and <, and bytes of several encodings, so tags are found by regular expression: a post
    ends at a </post> that a new <date> or the end follows.
    """

    root: Path

    NAME = re.compile(r"(\d+)\.(male|female)\.(\d+)\.([^.]+)\.([^.]+)\.xml")
    HEAD = re.compile(r"<date>([^<]*)</date>\s*<post>")
    END = re.compile(r"</post>(?=\s*(?:<date>|</[Bb]log>|\Z))")

    @classmethod
    def find(cls, data_dir: Path) -> XmlFiles | None:
        for root in (data_dir / "blogs.zip", data_dir / "blogs" / "blogs.zip", data_dir / "blogs"):
            if root.is_file() or (root.is_dir() and next(root.rglob("*.xml*"), None)):
                return cls(root)
        return None

    @property
    def paths(self) -> list[Path]:
        return [self.root] if self.root.is_file() else sorted(self.root.rglob("*.xml*"))

    def authors(self) -> pa.Table:
        rows = [(*person, len(posts)) for person, posts in self._files(None)]
        if not rows:
            raise Place(self.root).error("no id.gender.age.industry.sign.xml file in it; fetch it again")
        return pa.table(list(map(list, zip(*rows, strict=True))), schema=AUTHORS)

    def batches(self, ids: pa.Array | None) -> Iterator[pa.RecordBatch]:
        rows: list[tuple] = []
        for person, posts in self._files(None if ids is None else set(ids.to_pylist())):
            rows += [(*person, date, text) for date, text in posts]
            if len(rows) >= BATCH:
                yield self._batch(rows)
                rows = []
        if rows:
            yield self._batch(rows)

    def _files(self, ids: set[int] | None) -> Iterator[tuple[tuple, list[tuple[str, str]]]]:
        """(author, gender, age, industry, sign) and [(date, text)] of each author, by file name."""
        for place, data in counted(walk(self.root, ".xml"), "Reading blogs"):
            match = self.NAME.fullmatch(place.name)
            if not match:
                raise place.error("the file name is not id.gender.age.industry.sign.xml; remove the file")
            author, gender, age, industry, sign = match.groups()
            if ids is None or int(author) in ids:
                yield (
                    (int(author), gender, int(age), industry.lower(), sign),
                    self._posts(place, _decode(data, place)),
                )

    def _posts(self, place: Place, text: str) -> list[tuple[str, str]]:
        posts, end = [], 0
        *pieces, tail = self.END.split(text)
        for piece in pieces:
            head = self.HEAD.search(piece)
            if not head:
                break
            posts.append((head[1].strip(), piece[head.end() :]))
            end += len(piece) + len("</post>")
        if not posts or len(posts) < len(pieces) or "<post>" in tail:
            line = text.count("\n", 0, end) + 1
            raise place.error("no complete <date>…<post>…</post> from here on; fetch the file again", line)
        return posts

    def _batch(self, rows: list[tuple]) -> pa.RecordBatch:
        types = [AUTHORS.field(name).type for name in PERSON] + [pa.string(), pa.string()]
        arrays = [pa.array(c, t) for c, t in zip(zip(*rows, strict=True), types, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, [*PERSON, "date", "text"])


def _people(table: pa.Table, place: Place, first_line: int = 2) -> pa.Table:
    """Strings to the types of AUTHORS; industries in lower case."""
    for name in table.column_names:
        i = table.column_names.index(name)
        if name in ("author", "age", "posts"):
            value = _integers(table[name], place, first_line, most=3 if name == "age" else 18)
            table = table.set_column(i, name, value.cast(AUTHORS.field(name).type))
        elif name == "industry":
            table = table.set_column(i, name, pc.utf8_lower(table[name]))
    return table


def _integers(column: pa.ChunkedArray, place: Place, first_line: int, most: int = 18) -> pa.ChunkedArray:
    """Whole numbers of at most so many digits."""
    good = pc.match_substring_regex(column, rf"^\d{{1,{most}}}$")
    if not pc.all(good).as_py():
        row = pc.index(good, False).as_py()
        raise place.error(f"{column[row].as_py()!r} is not a number of at most {most} digits", first_line + row)
    return column.cast(pa.int64())


def _decode(data: bytes, place: Place) -> str:
    """UTF-8, else Windows-1252: the files were saved from thousands of blogs."""
    check_text(data, place)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")
