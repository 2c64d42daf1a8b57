"""The results table of the README, docs/results.md and the table of docs/speed.md, made from what runs left.

    python docs/results.py record NAME RUN [RUN …]    keep the metrics of a run folder as docs/results/NAME.json
    python docs/results.py write                      make the tables and the page anew from the records
    python docs/results.py check                      say whether they are what the records give

Several RUNs of one name are the same command under other seeds: their metrics are averaged, with the spread.

The lines of the table are in claims.py, the sections of the page in sections.py. A line names the controls that it
beats, and `write` refuses one whose record says otherwise, so that a claim cannot outlive its control.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from claims import FRONT, LINES
from lines import Record
from sections import INTRODUCTION, SECTIONS
from timings import timings

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
PAGE = HERE / "results.md"
SPEED = HERE / "speed.md"
TIMED = "benchmark"  # the record that docs/speed.md shows
RECORDS = HERE / "results"
SPENT = "seconds.txt"  # in the folder of a run of reproduce.py: the seconds of each part of it
BLOCK = re.compile(r"(<!-- results: .*? -->\n).*?(<!-- end of results -->)", re.S)


def table(beginnings: Sequence[str] = ("",)) -> str:
    """The claims that begin so, each beside its controls."""
    found = [line.text(load(line.record)) for line in LINES if line.what.startswith(tuple(beginnings))]
    return "\n".join(["| what | here | its controls | so |", "|---|---|---|---|", *found, ""])


def page() -> str:
    """docs/results.md."""
    there = {path.stem for path in RECORDS.glob("*.json")}
    found = [one.text(load(one.record) if one.record in there else None) for one in SECTIONS]
    hours = sum(sum(load(name)["seconds"]) for name in there - {TIMED}) / 3600
    time = f"The runs of this page took {hours:.1f} hours, one study after the other."
    return "\n\n".join([INTRODUCTION, time, "## Every claim beside its controls", table().rstrip(), *found]) + "\n"


def load(name: str) -> Record:
    path = RECORDS / f"{name}.json"
    if not path.exists():
        raise SystemExit(f"docs/results.py: no {path.name} in docs/results; record a run first")
    return json.loads(path.read_text(encoding="utf-8"))


def record(name: str, runs: Sequence[Path], tables: Sequence[str] = (), figures: Sequence[str] = ()) -> None:
    """Keep what the pages need of some runs: rows, how they were made, how long they took; of the first run's report
    the tables and texts of these titles, and these pictures."""
    found = [json.loads((run / "metrics.json").read_text(encoding="utf-8")) for run in runs]
    facts = [json.loads((run / "versions.json").read_text(encoding="utf-8")) for run in runs]
    kept = {
        "task": found[0]["task"],
        "commands": [shortened(fact["command"]) for fact in facts],
        "revisions": sorted({fact["revision"] for fact in facts}),
        "machine": facts[0].get("machine", ""),
        "versions": facts[0].get("versions", "").splitlines(),
        "seconds": [seconds_of(run, metrics) for run, metrics in zip(runs, found)],
        "rows": found[0]["rows"] if len(found) == 1 else averaged([metrics["rows"] for metrics in found]),
    }
    if tables or figures:
        RECORDS.mkdir(exist_ok=True)
        kept |= shown(name, runs[0], tables, figures)
    save(name, kept)


def save(name: str, kept: Record) -> None:
    RECORDS.mkdir(exist_ok=True)
    text = json.dumps(kept, indent=1, ensure_ascii=False, default=float) + "\n"
    (RECORDS / f"{name}.json").write_text(text, encoding="utf-8")


def seconds_of(run: Path, metrics: dict[str, Any]) -> int:
    """Of a run that was stopped and continued `metrics` knows the last part alone; of one begun by hand, only it."""
    spent = run / SPENT
    parts = sum(map(int, spent.read_text().split())) if spent.is_file() else 0
    return max(parts, round(metrics["seconds"]))


def shown(name: str, run: Path, tables: Sequence[str], figures: Sequence[str]) -> dict[str, Any]:
    """Sections of a run's report; its pictures are copied beside the record."""
    sections = json.loads((run / "tables.json").read_text(encoding="utf-8"))
    kept = [one for one in sections if "figure" not in one and matches(one["title"], tables)]
    pictures = []
    for one in sections:
        stem = Path(one.get("figure", "")).stem
        if matches(stem, figures):
            picture = f"{name}-{stem}.png"
            keep_picture(run / "figures" / f"{stem}.png", RECORDS / picture)
            pictures.append({"title": one["title"], "figure": picture, "caption": one["caption"]})
    return {"tables": kept, "figures": pictures}


def keep_picture(drawn: Path, kept: Path) -> None:
    """In 256 colours, a third of the bytes of a map with hundreds of names. With fewer its groups would lose theirs."""
    from PIL import Image

    with Image.open(drawn) as picture:
        picture.convert("RGB").quantize(256).save(kept, optimize=True)


def matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def averaged(runs: Sequence[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Mean and standard deviation, over runs, of every metric that all of them have."""
    from tasks.engine.rows import mean_and_spread

    return {row: mean_and_spread([run[row] for run in runs]) for row in runs[0] if all(row in run for run in runs)}


def shortened(command: str) -> str:
    """A command without the folders of the machine it ran on."""
    words = [word for word in command.split() if not word.startswith(("paths.", "hydra.run.dir="))]
    return " ".join(re.sub(r"(?<==)/\S*/", "", relative(word)) for word in words)


def relative(word: str) -> str:
    """A run of `make reproduce` has the same place in every checkout."""
    return re.sub(r"(?<==)/\S*/(?=outputs/reproduce/)", "", word)


def filled(page: str, made: str) -> str:
    """A page with what the records give in the place of what stood there."""
    return BLOCK.sub(lambda found: found[1] + made + found[2], page)


def pages() -> dict[Path, str]:
    """Every page that records have a part in, as it should be."""
    return {
        README: filled(README.read_text(encoding="utf-8"), table(FRONT)),
        SPEED: filled(SPEED.read_text(encoding="utf-8"), timings(load(TIMED))),
        PAGE: page(),
    }


def write() -> None:
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


def check() -> None:
    for path, text in pages().items():
        if path.read_text(encoding="utf-8") != text:
            raise SystemExit(f"docs/results.py: {path.name} differs from the records; python docs/results.py write")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    todo = parser.add_subparsers(dest="todo", required=True)
    kept = todo.add_parser("record", help="keep the metrics of a run")
    kept.add_argument("name")
    kept.add_argument("runs", nargs="+", type=Path)
    todo.add_parser("write", help="write docs/results.md, and the tables of README.md and docs/speed.md")
    todo.add_parser("check", help="compare them with the records")
    said = parser.parse_args()
    if said.todo == "record":
        record(said.name, said.runs)
    elif said.todo == "write":
        write()
    else:
        check()


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))
    main()
