"""Line-aligned sentence pairs: line i of one file translates line i of the other.

Accepted, in `parallel/europarl/`, `europarl/`, `parallel/` or the data folder itself, plain or gzip:
- `<split>.<a>-<b>.<a>` and `<split>.<a>-<b>.<b>`, split in train, dev, test;
- the Europarl v7 release, `europarl-v7.<a>-<b>.<a>` and `.<b>`, or its archive `<a>-<b>.tgz`. It has no
  splits: the last lines are test, those before dev, the rest train (`HELD_OUT` lines each, or a tenth).
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from atd.errors import AtdError
from datamodules.readers.files import Place, find, has_text, missing

Sides = list[list[Path | Place]]  # where each of the two sides may be

HELD_OUT = 2000
FOLDERS = ("parallel/europarl", "europarl", "parallel", "")


def find_pairs(data_dir: str | Path, pair: str, split: str = "train") -> tuple[Place, Place, bool]:
    """The two files of a pair such as `en-de`, in that order, and whether they are cut into splits."""
    data_dir = Path(data_dir)
    languages = _languages(pair)
    tried: list[Path | Place] = []
    for base in (data_dir / folder for folder in FOLDERS):
        for a, b in (languages, languages[::-1]):
            names = [f"europarl-v7.{a}-{b}.{lang}" for lang in languages]
            cut: Sides = [[base / f"{split}.{a}-{b}.{lang}"] for lang in languages]
            uncut: Sides = [[base / name, Place(base / f"{a}-{b}.tgz", name)] for name in names]
            for sides in (cut, uncut):
                first, second = (find(*side) for side in sides)
                if first and second:
                    return first, second, sides is cut
                if first or second:
                    absent = sides[1 if first else 0][0]
                    raise AtdError(f"{absent}: missing beside its other half {first or second}; put both there")
                tried += sides[0] + sides[1]
    raise missing(f"parallel text for {pair} ({split})", data_dir, *tried[:5])


def read_pairs(data_dir: str | Path, pair: str, split: str = "train", limit: int | None = None) -> pa.Table:
    """Table(source, target): source is the first language of `pair`; at most the first `limit` pairs.

    In the uncut release, lines empty on either side (unaligned) are left out, after the split is made.
    """
    source_place, target_place, cut = find_pairs(data_dir, pair, split)
    source, target = source_place.lines(), target_place.lines()
    if len(source) != len(target):
        raise AtdError(
            f"{source_place} has {len(source)} lines but {target_place} has {len(target)}: "
            "line i of one must translate line i of the other; fetch both again"
        )
    table = pa.table({"source": source, "target": target})
    if not cut:
        table = table.slice(*_span(len(source), split))
        table = table.filter(pc.and_(*map(has_text, table.columns)))
    return table if limit is None else table.slice(0, limit)


def _span(n: int, split: str) -> tuple[int, int]:
    """(first line, number of lines) of a split of n uncut lines."""
    held = min(HELD_OUT, n // 10)
    spans = {"train": (0, n - 2 * held), "dev": (n - 2 * held, held), "test": (n - held, held)}
    if split not in spans:
        raise AtdError(f"split {split!r} does not exist; choose one of {', '.join(spans)}")
    return spans[split]


def _languages(pair: str) -> tuple[str, str]:
    languages = pair.split("-")
    if len(languages) != 2 or not all(languages) or languages[0] == languages[1]:
        raise AtdError(f"language pair {pair!r} is not of the form en-de")
    return languages[0], languages[1]
