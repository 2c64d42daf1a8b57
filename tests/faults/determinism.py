"""The same seed gives the same rows, to the bit: every task on its sample, twice.

The second run is another process with another order of hashes, so that a set that is gone through in its own order
shows. Corpora are made anew in each. Times are left out, and what has nothing else: the benchmark and the explorer.

    python -m tests.faults.determinism FOLDER TASK …      one side: the metrics of these tasks, a file each
"""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from tests.faults.fault import Effort, Fault

ROOT = Path(__file__).parent.parent.parent
TABLE = "data=table data.path=reviews.csv data.attributes=[age,gender]"
CASES = {  # what is typed; {table} is the folder of the first one
    "table": f"task=attributes {TABLE}",
    "maps": "task=maps checkpoint={table}",
    "similarity": "task=similarity checkpoint={table} task.min_count=1",
    "infer": "task=infer checkpoint={table} 'text=the garden was good .'",
    "infer-sgd": "task=infer checkpoint={table} inference=sgd 'text=the phone was bad .'",
    "export": "task=export checkpoint={table}",
    "controls": f"task=controls {TABLE}",
    "attributes": "task=attributes",
    "generation": "task=generation",
    "madlibs": "task=madlibs 'task.prompts=[{start: the sea was, tags: [DT, JJ, NN]}]'",
    "sentiment": "task=sentiment",
    "crosslingual": "task=crosslingual",
    "languages": "task=languages",
    "authorship": "task=authorship task.parts=[experiments,likelihood,composition,mixture]",
    "effects": "task=effects",
}
QUICK = ("table", "maps")
TIMES = ("seconds", "milliseconds", "load_seconds", "megabytes")  # a report of its own has other lengths


def faults(effort: Effort) -> Iterator[Fault]:
    names = list(QUICK if effort.quick else CASES)
    fault = Fault("determinism", "the same task again, in a process with other hashes")
    with tempfile.TemporaryDirectory(prefix="atd-determinism-") as scratch:
        here, there = Path(scratch) / "here", Path(scratch) / "there"
        other = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.determinism", str(there), *names],
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": str(1 + effort.seed), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        perform(here, names)
        other.wait(timeout=600)
        for name in names:
            fault.tried(difference(here / f"{name}.json", there / f"{name}.json") or None)
    yield fault


def perform(folder: Path, names: Sequence[str]) -> None:
    """Run the cases in this process, small, and keep their metrics."""
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    import small_runs

    folder.mkdir(parents=True)
    with small_runs.small_world(), redirect_stdout(io.StringIO()):
        done: dict[str, Path] = {}
        for name in names:
            words = shlex.split(CASES[name].replace("{table}", str(done.get("table"))))
            try:
                done[name] = small_runs.run_small([*words, f"paths.cache={folder / 'cache'}"])
            except Exception as error:
                (folder / f"{name}.json").write_text(json.dumps({"failed": f"{type(error).__name__}: {error}"}))
                continue
            (folder / f"{name}.json").write_bytes((done[name] / "metrics.json").read_bytes())


def difference(here: Path, there: Path) -> str:
    """What two runs do not have in common; nothing = they are the same."""
    if not there.exists():
        return f"{here.stem}: the other process ended before it"
    a, b = (dict(leaves(json.loads(path.read_text(encoding="utf-8")), "")) for path in (here, there))
    if failed := a.get("/failed") or b.get("/failed"):
        return f"{here.stem}: {' '.join(failed.split())[:300]}"
    unlike = [
        f"{key} {a.get(key)} → {b.get(key)}" for key in a.keys() | b.keys() if repr(a.get(key)) != repr(b.get(key))
    ]
    return f"{here.stem}: {'; '.join(sorted(unlike)[:3])}" if unlike else ""


def leaves(content: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Every value and its place, times aside; the order of the keys is a value, too."""
    if not isinstance(content, dict):
        yield place, content
        return
    yield f"{place}: its order", list(content)
    for key, value in content.items():
        if key not in TIMES:
            yield from leaves(value, f"{place}/{key}")


if __name__ == "__main__":
    perform(Path(sys.argv[1]), sys.argv[2:])
