"""`make faults`: every fault, a table of what was lost, and docs/reliability.md. Exits 1 when anything was lost.

Each family is a process of its own, two at a time.
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.faults.fault import Effort, Fault

PAGE = Path(__file__).parent.parent.parent / "docs" / "reliability.md"
FAMILIES = ("kills", "disks", "damage", "readers", "bombs", "checkpoints", "settings", "determinism", "explorer")
SIDE_BY_SIDE = 2
START, END = "<!-- faults: start -->", "<!-- faults: end -->"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("families", nargs="*", help=f"which to try: {', '.join(FAMILIES)}; all by default")
    parser.add_argument("--seed", type=int, default=0, help="draws the cases; a loss is repeated with the same seed")
    parser.add_argument("--quick", action="store_true", help="the part that runs with the tests")
    parser.add_argument("--to", type=Path, help="write what was found there, as JSON")
    parser.add_argument("--write", action="store_true", help="put the table of all families into docs/reliability.md")
    given = parser.parse_args()
    if wrong := set(given.families) - set(FAMILIES):
        parser.error(f"no such family: {', '.join(sorted(wrong))}; choose from {', '.join(FAMILIES)}")
    effort = Effort(given.seed, given.quick)
    started = time.monotonic()
    families = given.families or FAMILIES
    if len(families) == 1:
        faults = list(importlib.import_module(f"tests.faults.{families[0]}").faults(effort))
    else:
        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool, tempfile.TemporaryDirectory() as folder:
            todo = [pool.submit(alone, family, effort, Path(folder) / family) for family in families]
            faults = [fault for family in todo for fault in family.result()]
    minutes = (time.monotonic() - started) / 60
    if given.to:
        given.to.write_text(json.dumps([asdict(fault) for fault in faults]))
        return 0
    show(faults)
    lost = sum(len(fault.lost) for fault in faults)
    tries = sum(fault.tries for fault in faults)
    print(f"{tries:,} faults tried in {minutes:.1f} minutes, {lost} lost something")
    if given.write and not given.families:
        write(faults, effort, minutes)
    return 1 if lost else 0


def alone(family: str, effort: Effort, kept: Path) -> list[Fault]:
    """The faults of a family, tried in a process of its own; one that does not end well is a loss itself."""
    command = [sys.executable, "-m", "tests.faults", family, "--seed", str(effort.seed), "--to", str(kept)]
    started = time.monotonic()
    done = subprocess.run(command + ["--quick"] * effort.quick, capture_output=True, text=True)
    print(f"{family} (seed {effort.seed}): {time.monotonic() - started:.0f} s", flush=True)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["nothing said"])[-1]
        return [Fault(family, "the harness itself", 1, [f"ended with {done.returncode}: {said}"])]
    return [Fault(**fault) for fault in json.loads(kept.read_text())]


def show(faults: list[Fault]) -> None:
    """A table, and below it every loss in a line."""
    table = Table("family", "fault", "tries", "survived", "lost", "")
    for fault in faults:
        table.add_row(fault.family, *row(fault), style="red" if fault.lost else None)
    console = Console(width=None if sys.stdout.isatty() else 170)
    console.print(table)
    for fault in faults:
        for loss in fault.lost:
            console.print(f"lost: {fault.name}: {loss}", markup=False, highlight=False, soft_wrap=True)


def row(fault: Fault) -> list[str]:
    if fault.skipped:
        return [fault.name, "–", "–", "–", f"skipped: {fault.skipped}"]
    return [fault.name, f"{fault.tries:,}", f"{fault.survived:,}", f"{len(fault.lost):,}", fault.note]


def write(faults: list[Fault], effort: Effort, minutes: float) -> None:
    """The table into its place in docs/reliability.md."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    _, _, after = rest.partition(END)
    machine = f"{platform.system()} with Python {platform.python_version()}"
    lines = [f"Seed {effort.seed}, {minutes:.0f} minutes on {machine}."]
    lines += ["", "| family | fault | tries | survived | lost | note |", "|---|---|--:|--:|--:|---|"]
    lines += [f"| {fault.family} | " + " | ".join(row(fault)) + " |" for fault in faults]
    PAGE.write_text(f"{before}{START}\n" + "\n".join(lines) + f"\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
