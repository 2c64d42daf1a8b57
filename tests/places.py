"""A table of texts about two places, which trains in no time."""

from __future__ import annotations

import csv
import random
from pathlib import Path

THINGS = {"sea": "ship wave sail gull net tide", "farm": "cow field barn hen oats hay"}


def write_places(path: Path, rows: int) -> Path:
    draw = random.Random(0)
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["text", "place"])
        for _ in range(rows):
            place = draw.choice(list(THINGS))
            a, b = draw.choices(THINGS[place].split(), k=2)
            out.writerow([f"the {a} sees the {b} and the {a} .", place])
    return path
