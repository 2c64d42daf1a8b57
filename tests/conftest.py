"""Shared fixtures. Tests on the real corpora run when ATD_DATA names their folder, and say so when skipped."""

from __future__ import annotations

import csv
import os
import random
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # several test processes share few cores

import pytest
import torch

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real corpora, or a skip that says how to provide it."""
    folder = os.environ.get("ATD_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("set ATD_DATA to a folder of real corpora to run this test")
    return Path(folder)


@pytest.fixture(scope="session")
def places(tmp_path_factory) -> list[str]:
    """Settings for a corpus of 300 lines about two places, which trains in no time."""
    draw = random.Random(0)
    things = {"sea": "ship wave sail gull net tide", "farm": "cow field barn hen oats hay"}
    path = tmp_path_factory.mktemp("table") / "places.csv"
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["text", "place"])
        for _ in range(300):
            place = draw.choice(list(things))
            a, b = draw.choices(things[place].split(), k=2)
            out.writerow([f"the {a} sees the {b} and the {a} .", place])
    return ["data=table", f"data.path={path}", "data.text=text", "data.attributes=[place]", "data.min_count=1"]
