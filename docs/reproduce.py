"""Run every study whose corpora are there, keep what each found, and make docs/results.md anew.

    python docs/reproduce.py FOLDER [--only RECORD …] [--list]

FOLDER holds the runs. One that is finished is not run again, and one that was stopped goes on where it was: call the
same command once more. A study that fails, say because its corpus is missing, is left out with its own message.
On one core the whole takes about eight hours.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import results
from studies import STUDIES, Study

ROOT = Path(__file__).parent.parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", default=[], metavar="RECORD", help="these studies, not all")
    parser.add_argument("--list", action="store_true", help="say what is done and what is left, and run nothing")
    said = parser.parse_args()
    names = [study.record for study in STUDIES]
    if unknown := sorted(set(said.only) - set(names)):
        parser.error(f"--only {unknown[0]}: no such study; there are {', '.join(names)}")
    folder = said.folder.absolute()
    asked = [study for study in STUDIES if not said.only or study.record in said.only]
    if said.list:
        for study in asked:
            print(f"{'done' if done(study, folder) else 'left':6}{study.record:24}{' ; '.join(study.commands())}")
        return 0
    return reproduce(asked, folder)


def reproduce(asked: Sequence[Study], folder: Path) -> int:
    """The number of studies that failed."""
    failed = []
    tables(folder)
    for number, study in enumerate(asked, 1):
        started = time.monotonic()
        print(f"[{number} of {len(asked)}] {study.record}", flush=True)
        if all(run(command, place, folder) for command, place in zip(study.commands(), places(study, folder))):
            results.record(study.record, places(study, folder), study.tables, study.figures)
            results.write()
            print(f"[{number} of {len(asked)}] {study.record}: {(time.monotonic() - started) / 60:.1f} min", flush=True)
        else:
            failed.append(study.record)
    if failed:
        print(f"left out, each for the reason given above: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


def run(arguments: str, place: Path, folder: Path) -> bool:
    """Run a command in a folder of its own, or go on with it there; whether it ended well."""
    if (place / "metrics.json").is_file():
        return True
    words = [word.format(tables=folder / "tables") for word in shlex.split(arguments)]
    if (place / "config.yaml").is_file():
        words = [f"resume={place}"]
    else:
        words += [f"hydra.run.dir={place}", *model(place.name, folder)]
    started = time.monotonic()
    ended = subprocess.run([sys.executable, str(ROOT / "run.py"), *words], cwd=ROOT).returncode
    if place.is_dir():
        with (place / results.SPENT).open("a") as file:
            print(round(time.monotonic() - started), file=file)
    return ended == 0


def model(name: str, folder: Path) -> list[str]:
    """The trained model that a study shows, if it trains none."""
    study = next(study for study in STUDIES if name.rpartition("-")[0] == study.record)
    if not study.model_of:
        return []
    (maker,) = (other for other in STUDIES if other.record == study.model_of)
    return [f"checkpoint={places(maker, folder)[0]}"]


def places(study: Study, folder: Path) -> list[Path]:
    """The folders of its runs."""
    return [folder / f"{study.record}-{n}" for n in range(len(study.commands()))]


def done(study: Study, folder: Path) -> bool:
    return all((place / "metrics.json").is_file() for place in places(study, folder))


def tables(folder: Path) -> None:
    """The tables that studies with data=table are of."""
    if not (folder / "tables").is_dir():
        subprocess.run([sys.executable, str(ROOT / "docs/tables.py"), str(folder / "tables")], cwd=ROOT, check=True)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(min(main(), 1))
