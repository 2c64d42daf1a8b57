"""Reuters RCV1 and RCV2 news stories (NewsML), which need an agreement with NIST: the user brings the copy.

Accepted under the data folder, for a language such as `de`: `reuters/de/`, `reuters/german/`, `rcv2/de/`,
`rcv2/german/`, or an archive of such a name (`reuters/de.zip`, `.tgz`); English may be `rcv1/` too. Below it,
at any depth, `NNNNnewsML.xml` files, plain, gzip, or in the daily zips of the release (`19960820.zip`).
A story is kept when exactly one of the four top categories CCAT, ECAT, GCAT, MCAT is among its topic codes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.parsers import expat

import pyarrow as pa

from atd.errors import AtdError
from datamodules.readers.files import ARCHIVES, Place, counted, walk

CATEGORIES = ("CCAT", "ECAT", "GCAT", "MCAT")  # corporate, economics, government and society, markets
TOPICS = "bip:topics"  # the class of code lists that holds topics; others hold countries and industries
SCHEMA = pa.schema({"id": pa.string(), "text": pa.string(), "category": pa.string(), "date": pa.string()})
BATCH = 10_000
NAMES = {
    "en": "english", "de": "german", "fr": "french", "es": "spanish", "it": "italian", "pt": "portuguese",
    "nl": "dutch", "da": "danish", "no": "norwegian", "sv": "swedish", "ru": "russian", "ja": "japanese",
    "zh": "chinese",
}  # fmt: skip


def find_reuters(data_dir: str | Path, lang: str) -> Path:
    """The folder or archive of a language."""
    data_dir = Path(data_dir)
    names = [lang, NAMES.get(lang, lang)]
    bases = [data_dir / corpus / name for corpus in ("reuters", "rcv2") for name in names]
    if lang == "en":
        bases.append(data_dir / "rcv1")
    for base in bases:
        for path in (base, *(base.with_name(base.name + end) for end in ARCHIVES)):
            if path.exists():
                return path
    raise AtdError(
        f"{bases[0]}: no Reuters news in {lang!r}; RCV1 and RCV2 are given out by NIST against an agreement "
        f"(trec.nist.gov/data/reuters/reuters.html): put the XML or zips there, or use topic source sib200"
    )


def read_reuters(data_dir: str | Path, lang: str, headline: bool = True) -> pa.Table:
    """Table(id, text, category, date): stories of one top category, by name; the headline comes first."""
    root = find_reuters(data_dir, lang)
    table = pa.Table.from_batches(_batches(root, lang, headline), SCHEMA)
    if not len(table):
        raise AtdError(f"{root}: no story with exactly one of {', '.join(CATEGORIES)}; is this RCV1 or RCV2?")
    return table


def _batches(root: Path, lang: str, headline: bool) -> Iterator[pa.RecordBatch]:
    rows: list[tuple[str, ...]] = []
    for place, data in counted(walk(root, ".xml"), f"Reuters {lang}"):
        story = _Story(data, place)
        categories = story.topics & set(CATEGORIES)
        if len(categories) == 1:
            lines = ([story.headline] if headline and story.headline else []) + story.paragraphs
            rows.append((story.id, "\n".join(lines), *categories, story.date))
        if len(rows) == BATCH:
            yield _batch(rows)
            rows = []
    if rows:
        yield _batch(rows)


def _batch(rows: list[tuple[str, ...]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(c, pa.string()) for c in zip(*rows, strict=True)], schema=SCHEMA)


class _Story:
    """One <newsitem>, parsed by expat with entity declarations refused: no bombs, no outside files."""

    def __init__(self, data: bytes, place: Place):
        self.id = place.name
        self.date = ""
        self.headline = ""
        self.topics: set[str] = set()
        self.paragraphs: list[str] = []
        self._place = place
        self._path: list[str] = []  # the elements we are in
        self._text: list[str] = []  # of the element we are in
        self._class = ""
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text.append
        parser.EntityDeclHandler = self._refuse
        try:
            parser.Parse(data, True)
        except expat.ExpatError as e:
            problem = f"broken XML ({expat.errors.messages[e.code]}); fetch or mend the file, or remove it"
            raise place.error(problem, e.lineno) from e
        except LookupError as e:  # an encoding that Python does not know
            raise place.error(f"{e}; convert the file to UTF-8", 1) from e

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._path.append(name)
        if name == "newsitem":
            self.id, self.date = attributes.get("itemid", self.id), attributes.get("date", "")
        elif name == "codes":
            self._class = attributes.get("class", "")
        elif name == "code" and self._class.startswith(TOPICS):
            self.topics.add(attributes.get("code", ""))
        elif name in ("p", "headline"):
            self._text.clear()

    def _end(self, name: str) -> None:
        self._path.pop()
        if name == "headline" or (name == "p" and "text" in self._path):
            text = " ".join("".join(self._text).split())
            if name == "headline":
                self.headline = text
            elif text:
                self.paragraphs.append(text)

    def _refuse(self, name: str, *_) -> None:
        raise self._place.error(f"declares the entity {name!r}, which no news story does; remove the file")
