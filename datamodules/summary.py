"""What a corpus holds, in a few lines, before anything is trained on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from atd.encoded import EncodedCorpus
from atd.vocabulary import UNK_ID
from datamodules.corpus import Corpus
from datamodules.readers.streams import NAMES
from datamodules.values import VALUE

SIGNS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
SHOWN = 6  # values of a column
FILES = 3
WIDTH = 30  # letters of a value


def describe(data: Corpus) -> list[str]:
    """How the files were read, the sizes of the parts, the vocabulary, and the values of every column."""
    parts, train = data.encoded, data.encoded["train"]
    rows = "  ".join(f"{name} {len(part):,}" for name, part in parts.items())
    words = "  ".join(f"{name} {len(part.tokens):,}" for name, part in parts.items())
    unknown = ", ".join(f"{share(part):.1%} of {name}" for name, part in parts.items())
    return [
        *files(train.meta.get("sources", [])),
        f"texts: {rows}",
        f"words: {words}",
        f"vocabulary: {len(data.vocabulary):,} words; unknown are {unknown}",
        *columns(parts),
    ]


def share(part: EncodedCorpus) -> float:
    """Of unknown words."""
    return float(np.mean(part.tokens == UNK_ID))


def files(sources: list[Mapping[str, Any]]) -> list[str]:
    """How each file was read; of many the first ones, and those read otherwise than the first."""
    if not sources:
        return []
    strange = [one for one in sources[FILES:] if how(one) != how(sources[0])]
    shown = [*sources[:FILES], *strange[:FILES]]
    out = [f"{one['file']}: {how(one)}, {one['rows']:,} rows" for one in shown]
    if rest := len(sources) - len(shown):
        out.append(f"and {rest:,} more files, {sum(one['rows'] for one in sources):,} rows in all")
    return out


def how(source: Mapping[str, Any]) -> str:
    words = [str(source["kind"])]
    if source["delimiter"]:
        words.append(f"{SIGNS[source['delimiter']]} between fields")
    if source["encoding"]:
        words.append(NAMES.get(source["encoding"], source["encoding"]))
    return ", ".join(words)


def columns(parts: Mapping[str, EncodedCorpus]) -> list[str]:
    """A line for every column: how many values, and the commonest with their counts."""
    design = parts["train"].design
    out = []
    for column in design.columns:
        if column.knots is not None:
            knots = ", ".join(f"{knot:g}" for knot in column.knots)
            out.append(f"{column.name}: numbers, with vectors at {knots}{', or missing' * bool(missing(column))}")
        elif (counts := counted(parts, column.name)) is not None:
            out.append(f"{column.name}: {shown(counts)}")
    return out


def missing(column: Any) -> int:
    """Values besides the knots."""
    return len(column.values) - len(column.knots)


def counted(parts: Mapping[str, EncodedCorpus], name: str) -> Counter[str] | None:
    """How many texts have each value, or words where every word has its own; None if that is not kept."""
    counts: Counter[str] = Counter()
    for part in parts.values():
        kept = part.columns.get(VALUE + name)
        if isinstance(kept, pa.Array | pa.ChunkedArray):
            for item in kept.value_counts().to_pylist():
                counts[str(item["values"])] += item["counts"]
        elif len(part.design.terms) == 1 and len(part.design.columns) == 1 and part.attributes.ndim == 1:
            found = np.bincount(part.attributes, minlength=len(part.design.names))
            counts.update(dict(zip(part.design.names, found.tolist())))
        else:
            return None
    return counts


def shown(counts: Counter[str]) -> str:
    """`3 values: 20s 400, 30s 300, 40s 200`."""
    first = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:SHOWN]
    most = ", ".join(f"{cut(value)} {n:,}" for value, n in first)
    more = f" and {len(counts) - SHOWN:,} more, the rarest {min(counts.values()):,}" if len(counts) > SHOWN else ""
    return f"{len(counts):,} value{'s' * (len(counts) != 1)}: {most}{more}"


def cut(value: str) -> str:
    return value if len(value) <= WIDTH else value[:WIDTH] + "…"
