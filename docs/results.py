"""The results table of the README, made from what runs left.

    python docs/results.py record NAME RUN [RUN …]    keep the metrics of a run folder as docs/results/NAME.json
    python docs/results.py write                      make the table of README.md anew from the records
    python docs/results.py check                      say whether README.md has the table that the records give

Several RUNs of one name are the same command under other seeds: their metrics are averaged, with the spread.

The lines are in claims.py. Each names the controls that it beats, and `write` refuses one whose record says otherwise,
so that a claim cannot outlive its control.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from claims import LINES
from lines import Record

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
RECORDS = HERE / "results"
BLOCK = re.compile(r"(<!-- results: .*? -->\n).*?(<!-- end of results -->)", re.S)


def table() -> str:
    found = [line.text(load(line.record)) for line in LINES]
    return "\n".join(["| what | here | its controls | so |", "|---|---|---|---|", *found, ""])


def load(name: str) -> Record:
    path = RECORDS / f"{name}.json"
    if not path.exists():
        raise SystemExit(f"docs/results.py: no {path.name} in docs/results; record a run first")
    return json.loads(path.read_text(encoding="utf-8"))


def record(name: str, runs: Sequence[Path]) -> None:
    """Keep what a table needs of some runs: their rows, how they were made, how long they took."""
    found = [json.loads((run / "metrics.json").read_text(encoding="utf-8")) for run in runs]
    facts = [json.loads((run / "versions.json").read_text(encoding="utf-8")) for run in runs]
    kept = {
        "task": found[0]["task"],
        "commands": [shortened(fact["command"]) for fact in facts],
        "revisions": sorted({fact["revision"] for fact in facts}),
        "seconds": [round(metrics["seconds"]) for metrics in found],
        "rows": found[0]["rows"] if len(found) == 1 else averaged([metrics["rows"] for metrics in found]),
    }
    RECORDS.mkdir(exist_ok=True)
    text = json.dumps(kept, indent=1, ensure_ascii=False, default=float) + "\n"
    (RECORDS / f"{name}.json").write_text(text, encoding="utf-8")


def averaged(runs: Sequence[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Mean and standard deviation, over runs, of every metric that all of them have."""
    from tasks.engine.rows import mean_and_spread

    return {row: mean_and_spread([run[row] for run in runs]) for row in runs[0] if all(row in run for run in runs)}


def shortened(command: str) -> str:
    """A command without the folders of the machine it ran on."""
    words = [word for word in command.split() if not word.startswith("paths.")]
    return " ".join(re.sub(r"(?<==)/\S*/", "", word) for word in words)


def filled(readme: str) -> str:
    """The README with the table of the records in its place."""
    return BLOCK.sub(lambda found: found[1] + table() + found[2], readme)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    todo = parser.add_subparsers(dest="todo", required=True)
    kept = todo.add_parser("record", help="keep the metrics of a run")
    kept.add_argument("name")
    kept.add_argument("runs", nargs="+", type=Path)
    todo.add_parser("write", help="write the table into README.md")
    todo.add_parser("check", help="compare README.md with the records")
    said = parser.parse_args()
    if said.todo == "record":
        return record(said.name, said.runs)
    old = README.read_text(encoding="utf-8")
    new = filled(old)
    if said.todo == "check" and new != old:
        raise SystemExit("docs/results.py: README.md differs from the records; python docs/results.py write")
    if new != old:
        README.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))
    main()
