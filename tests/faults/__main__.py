"""`make faults`: every fault in turn, a table of what was lost, and docs/reliability.md. Exits 1 when anything was."""

from __future__ import annotations

import argparse
import importlib
import platform
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.faults.fault import Effort, Fault

PAGE = Path(__file__).parent.parent.parent / "docs" / "reliability.md"
FAMILIES = ("kills", "disks", "damage", "readers", "bombs", "checkpoints", "settings", "determinism", "explorer")
START, END = "<!-- faults: start -->", "<!-- faults: end -->"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("families", nargs="*", help=f"which to try: {', '.join(FAMILIES)}; all by default")
    parser.add_argument("--seed", type=int, default=0, help="draws the cases; a loss is repeated with the same seed")
    parser.add_argument("--quick", action="store_true", help="the part that runs with the tests")
    parser.add_argument("--write", action="store_true", help="put the table of all families into docs/reliability.md")
    given = parser.parse_args()
    if wrong := set(given.families) - set(FAMILIES):
        parser.error(f"no such family: {', '.join(sorted(wrong))}; choose from {', '.join(FAMILIES)}")
    effort = Effort(given.seed, given.quick)
    started = time.monotonic()
    faults = []
    for family in given.families or FAMILIES:
        print(f"{family} (seed {effort.seed}) …", flush=True)
        faults += show(importlib.import_module(f"tests.faults.{family}").faults(effort))
    minutes = (time.monotonic() - started) / 60
    lost = sum(len(fault.lost) for fault in faults)
    tries = sum(fault.tries for fault in faults)
    print(f"{tries:,} faults tried in {minutes:.1f} minutes, {lost} lost something")
    if given.write and not given.families:
        write(faults, effort, minutes)
    return 1 if lost else 0


def show(faults) -> list[Fault]:
    """The faults of a family, as a table once all are done; losses below it, one line each."""
    done = list(faults)
    table = Table("fault", "tries", "survived", "lost", "")
    for fault in done:
        table.add_row(*row(fault), style="red" if fault.lost else None)
    console = Console(width=None if sys.stdout.isatty() else 150)
    console.print(table)
    for fault in done:
        for loss in fault.lost:
            console.print(f"lost: {fault.name}: {loss}", markup=False, highlight=False, soft_wrap=True)
    return done


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
