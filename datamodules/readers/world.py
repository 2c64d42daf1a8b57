"""Verses in hundreds of languages, and what is known of these languages. A folder holds

- `texts.tsv`: iso, verse, text; a header, then a line for every verse of every language
- `languages.tsv`: iso, name, family, branch_id, path (`family > … > language`) and more columns
- `typology.tsv`: iso, then a column for each feature, 0 to 1 or `--`
- `rivals/<name>.tsv`: iso, then the numbers of a vector that others published

each plain, .gz or .bz2. The last two need not be there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from atd.errors import AtdError
from datamodules.readers.files import Place

ENDINGS = ("", ".gz", ".bz2")
UNKNOWN = "--"


@dataclass(frozen=True)
class Language:
    iso: str
    name: str
    family: str
    branch: str  # the second node of the path
    path: tuple[str, ...]  # from the family down to the language


def find(folder: Path, name: str) -> Place | None:
    paths = (folder / (name + ending) for ending in ENDINGS)
    return next((Place(path) for path in paths if path.is_file()), None)


def require(folder: Path, name: str) -> Place:
    place = find(folder, name)
    if place is None:
        fix = "set data.path to the folder that holds it"
        raise AtdError(f"{folder / name}: not there (looked for it plain, .gz and .bz2); {fix}")
    return place


def read_verses(folder: Path) -> pa.Table:
    """Table(iso, verse, text), verses of a language one after another."""
    place = require(folder, "texts.tsv")
    table = place.fields(["iso", "verse", "text"], header=True)
    empty = pc.index(pc.equal(pc.utf8_trim_whitespace(table["iso"]), ""), True).as_py()
    if empty >= 0:
        raise place.error("no language in the column iso", empty + 2)
    return table.sort_by("iso") if scattered(table["iso"]) else table


def scattered(column: pa.ChunkedArray) -> bool:
    """Whether equal values do not all stand together."""
    runs = pc.run_end_encode(column.combine_chunks())
    return len(runs.values) > len(pc.unique(column))


def read_languages(folder: Path) -> dict[str, Language]:
    """What is known of each language, by code."""
    place = require(folder, "languages.tsv")
    table = place.fields(["iso", "name", "family", "branch_id", "path"], header=True)
    rows = zip(*(table[name].to_pylist() for name in table.column_names), strict=True)
    return {
        iso: Language(iso, name, family, branch or iso, tuple(path.split(" > ")))
        for iso, name, family, branch, path in rows
    }


def read_numbers(place: Place) -> dict[str, np.ndarray]:
    """A row of numbers for every code; what is not known is NaN."""
    header, *lines = place.text().rstrip("\n").split("\n")
    names = header.split("\t")
    found: dict[str, np.ndarray] = {}
    for number, line in enumerate(lines, 2):
        iso, *fields = line.split("\t")
        if len(fields) != len(names) - 1:
            raise place.error(f"{len(fields) + 1} fields between tabs instead of {len(names)}", number)
        try:
            found[iso] = np.array([np.nan if field == UNKNOWN else float(field) for field in fields])
        except ValueError:
            wrong = next(field for field in fields if field != UNKNOWN and not is_number(field))
            raise place.error(f"{wrong!r} is not a number", number) from None
    if not found or len(names) < 2:
        raise place.error("no rows of numbers; fetch the file again")
    return found


def is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def read_typology(folder: Path) -> dict[str, np.ndarray]:
    """The features of each language; none where the file is not there."""
    place = find(folder, "typology.tsv")
    return read_numbers(place) if place else {}


def read_rivals(folder: Path) -> dict[str, dict[str, np.ndarray]]:
    """Vectors that others published, by their name and then by code."""
    names = sorted({path.name.split(".")[0] for path in (folder / "rivals").glob("*.tsv*")})
    return {name: read_numbers(require(folder / "rivals", f"{name}.tsv")) for name in names}
