"""The results table of the README, out of the recorded metrics.json files beside this file."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
README = HERE.parent.parent / "README.md"
BEGIN = "<!-- results: made by docs/results/table.py -->"
END = "<!-- end of results -->"


@dataclass(frozen=True)
class Line:
    """One claim: what was measured, our row, and the rows it stands beside."""

    what: str
    run: str  # a file beside this one, without .json
    metrics: tuple[str, ...]
    ours: dict[str, str]  # what a row is, in words: its name in metrics.json
    controls: dict[str, str]
    paper: str = ""
    says: str = ""  # what follows

    def cells(self) -> list[str]:
        rows = load(self.run)["rows"]
        ours = [f"{words} **{value(rows[row], self.metrics)}**" for words, row in self.ours.items() if row in rows]
        beside = [f"{words} {value(rows[row], self.metrics)}" for words, row in self.controls.items() if row in rows]
        return [self.what, "; ".join(ours), "; ".join(beside), self.paper, self.says]


LINES: list[Line] = []


def load(run: str) -> dict[str, Any]:
    return json.loads((HERE / f"{run}.json").read_text(encoding="utf-8"))


def value(row: dict[str, float], metrics: tuple[str, ...]) -> str:
    """A number, or several with a stroke between, with the spread over seeds or folds where there is one."""
    out = []
    for metric in metrics:
        spread = row.get(f"{metric}_sd")
        out.append(f"{row[metric]:.1f}" + (f" ± {spread:.1f}" if spread is not None else ""))
    return " / ".join(out)


def table() -> str:
    header = ["what", "here", "its controls", "paper", "so"]
    body = [header, ["---"] * len(header), *(line.cells() for line in LINES)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in body)


def with_table(text: str) -> str:
    """The README with the table between its two marks."""
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def record(name: str, folder: Path) -> None:
    """Keep the metrics of a run, and its command as far as the run folder says."""
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    versions = json.loads((folder / "versions.json").read_text(encoding="utf-8"))
    kept = {"command": versions["command"], "commit": versions.get("commit"), **metrics}
    (HERE / f"{name}.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", nargs=2, metavar=("NAME", "FOLDER"), help="keep the metrics of a run folder")
    options = parser.parse_args()
    if options.record:
        record(options.record[0], Path(options.record[1]))
    README.write_text(with_table(README.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
