"""Damaged files of every form: each is read, or refused in one line that names it.

One case alone, with its traceback and the damaged file: python -m tests.faults.readers --seed 0 parquet 17
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa

from atd.vector_files import Vectors
from datamodules.readers.files import MANY
from tests.faults.families import Seed, families
from tests.faults.fault import Effort, Fault
from tests.faults.limits import outcomes, record
from tests.faults.mutations import mutated

FULL, QUICK = 10_000, 200  # cases of a family
TEXT = (".csv", ".tsv", ".json", ".jsonl", ".txt", ".xml", ".conllu", ".en")
MEMORY = Path("/dev/shm")  # where a file costs nothing


def faults(effort: Effort) -> Iterator[Fault]:
    with folder() as scratch:
        for name, seeds in families(scratch / "made").items():
            trial = Trial(effort, name, seeds, scratch / "data")
            found = outcomes(trial, range(effort.times(FULL, QUICK)), str(trial.folder))
            again = f"python -m tests.faults.readers --seed {effort.seed} '{name}' {{case}}"
            yield record(Fault("readers", f"damaged {name}"), found, again)


class Trial:
    """A case by its number: one of the seeds, its first file damaged, is read."""

    def __init__(self, effort: Effort, name: str, seeds: list[Seed], folder: Path):
        self.effort = effort
        self.name = name
        self.seeds = seeds
        self.folder = folder
        self.others = [data for seed in seeds for data in seed.files.values()]

    def __call__(self, case: int) -> None:
        seed, data = self.write(case)
        found = seed.read(self.folder)
        if (
            next(iter(seed.files)).endswith(TEXT)
            and "vectors" not in self.name
            and data.count(0) * MANY > len(data)
            and is_utf8(data)
        ):
            raise ValueError("zero bytes that are taken for text")
        for part in parts(found):
            if isinstance(part, pa.Table):
                part.validate(full=True)
            if isinstance(part, Vectors) and not (part.x_nK.size and np.isfinite(part.x_nK).all()):
                raise ValueError("vectors that are no numbers")

    def write(self, case: int) -> tuple[Seed, bytes]:
        """The files of a case, alone in the folder; and the bytes that were damaged."""
        draw = self.effort.draw(f"{self.name}/{case}")
        seed = draw.choice(self.seeds)
        (first, whole), *rest = seed.files.items()
        damaged = mutated(whole, draw, self.others)
        put({first: damaged, **dict(rest)}, self.folder)
        return seed, damaged


def put(files: dict[str, bytes], folder: Path) -> None:
    """Files, alone in a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def is_utf8(data: bytes) -> bool:
    try:
        return bool(data.decode())
    except UnicodeDecodeError:
        return False


def parts(found: object) -> tuple:
    return found if isinstance(found, tuple) else (found,)


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="atd-faults-", dir=MEMORY if MEMORY.is_dir() else None) as name:
        (Path(name) / "made").mkdir()
        yield Path(name)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.readers", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("family")
    parser.add_argument("case", type=int)
    given = parser.parse_args()
    made, data = (Path(tempfile.mkdtemp(prefix=f"atd-{name}-")) for name in ("seeds", "case"))
    trial = Trial(Effort(given.seed), given.family, families(made)[given.family], data)
    print(f"in {data}")
    trial(given.case)
    print("read")


if __name__ == "__main__":
    main()
