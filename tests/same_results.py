"""Are two revisions the same program? Every task on its sample at a fixed seed: metrics and weights, to the bit.

    python tests/same_results.py main                     that revision against the working tree
    python tests/same_results.py v0.1.0 v0.2.0            two revisions
    python tests/same_results.py main --only tour maps
    python tests/same_results.py main --keep /tmp/same    keep the runs, and use those that are there

A refactor must print "the same" for every case; a side takes some five minutes. What differs from run to run, such as
times, is left out.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shlex
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
SMALL = "model.K=16 model.F=16 model.D=8 trainer.max_epochs=2 trainer.min_steps=0 trainer.threads=1"
ONE = "trainer.threads=1"
CASES = {  # settings on the command line; {tour} is the folder of the case of that name
    "tour": f"task=attributes {SMALL} optim.samples=200",
    "tour-paper": f"task=attributes {SMALL} optim=sgd model.additive=true model.dropout=0.2",
    "tour-composed": f"task=attributes data=blogs_sample data.compose=true {SMALL} optim.samples=200",
    "tour-sparse": f"task=attributes data=blogs_sample optim=adagrad model.sparse=true {SMALL} optim.samples=200",
    "generation": f"task=generation data=gutenberg_sample task.samples=5 {SMALL} optim.samples=200",
    "madlibs": f"task=madlibs data=gutenberg_sample task.sequences=100 {SMALL} optim.samples=200"
    " 'task.prompts=[{start: the sea was, tags: [DT, JJ, NN]}]'",
    "sentiment": "task=sentiment data=treebank_sample task.seeds=2 task.members=2 task.tree.epochs=2",
    "crosslingual": f"task=crosslingual data=europarl_rcv_sample task.seeds=2 task.vectors=null {ONE}"
    " task.rows=[atd,atd+,atd-low,separate,atd-best,atd-low-spelling] trainer.max_epochs=2",
    "languages": f"task=languages data=languages_sample task.seeds=2 {SMALL}",
    "languages-words": "experiment=languages5 data=languages_sample data.sources=[europarl] data.unit=word"
    f" task.seeds=1 trainer.max_epochs=2 {ONE}",
    "authorship": "task=authorship data=blogs_sample task.parts=[experiments,likelihood,composition,mixture]"
    f" task.folds=3 task.leave_out=2 {SMALL} optim.samples=200",
    "graphs": f"task=graphs task.graph2vec.epochs=5 {SMALL} optim.samples=200",
    "kinship": f"task=kinship task.seeds=1 {ONE}",
    "matching": f"task=matching task.rows=[atd-mixture,tfidf+atd,shuffled] task.folds=2 {SMALL} optim.samples=100",
    "similarity": f"task=similarity checkpoint={{tour}} {ONE}",
    "similarity-words": f"task=similarity checkpoint={{languages-words}} {ONE}",
    "maps": f"task=maps checkpoint={{tour}} {ONE}",
    "infer": f"task=infer checkpoint={{tour}} 'text=the ship sailed to the harbour .' {ONE}",
    "infer-sgd": f"task=infer checkpoint={{tour}} inference=sgd 'text=the ship sailed .' {ONE}",
    "export": f"task=export checkpoint={{tour}} {ONE}",
    "explore": "task=explore checkpoint={tour} task.seconds=1 task.port=0",
}
VOLATILE = {"milliseconds", "load_seconds", "requests", "megabytes"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", help="a git revision")
    parser.add_argument("after", nargs="?", help="a git revision; without it the working tree")
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES), metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--keep", type=Path, help="a folder for the runs of both sides")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        box = (asked.keep or Path(temporary)).absolute()
        for side, revision in (("before", asked.before), ("after", asked.after)):
            tree = ROOT if revision is None else check_out(revision, Path(temporary) / f"{side}-tree")
            run_cases(tree, box / side, asked.only)
        return compare(box / "before", box / "after", asked.only)


def check_out(revision: str, folder: Path) -> Path:
    """The files of a revision, without touching the checkout."""
    archive = subprocess.run(["git", "-C", str(ROOT), "archive", revision], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return folder


def run_cases(tree: Path, box: Path, names: list[str]) -> None:
    """Run what is asked for, and the runs it takes a checkpoint from; each in `box`/<name>."""
    places = {name: box / name for name in CASES}
    environment = os.environ | {"ATD_CACHE": str(box / "cache"), "ATD_DATA": str(box / "no-data")}
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(tree), "PYTHONHASHSEED": "0"}
    needed = {other for name in names for other in CASES if f"checkpoint={{{other}}}" in CASES[name]}
    for name, settings in CASES.items():
        if name not in needed | set(names) or (places[name] / "metrics.json").exists():
            continue
        print(f"{box.name}: {name}", flush=True)
        for other, place in places.items():
            settings = settings.replace(f"{{{other}}}", str(place))
        command = [sys.executable, "run.py", *shlex.split(settings), f"hydra.run.dir={places[name]}"]
        done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{box.name}: {name} failed\n{shlex.join(command)}\n{done.stderr[-3000:]}")


def compare(before: Path, after: Path, names: list[str]) -> int:
    """Print what differs; 1 if anything does."""
    different = 0
    for name in names:
        a, b = before / name, after / name
        problems = [*unlike(rows(a), rows(b)), *unlike(weights(a), weights(b))]
        print(f"{name}: {'; '.join(problems[:5]) or 'the same'}" + (" …" if len(problems) > 5 else ""))
        different += bool(problems)
    print(f"{len(names) - different} of {len(names)} the same")
    return min(different, 1)


def unlike(before: dict, after: dict) -> list[str]:
    """What differs, or is on one side only."""
    keys = dict.fromkeys([*before, *after])
    return [f"{key} {before.get(key)} → {after.get(key)}" for key in keys if before.get(key) != after.get(key)]


def rows(run: Path) -> dict[str, float]:
    """The numbers of metrics.json."""
    found = json.loads((run / "metrics.json").read_text())["rows"]
    return {f"{row}/{name}": v for row, values in found.items() for name, v in values.items() if name not in VOLATILE}


def weights(run: Path) -> dict[str, str]:
    """A checksum of every tensor of the best checkpoints."""
    import hashlib

    import torch

    out = {}
    for path in sorted(run.glob("checkpoints/**/best.ckpt")):
        state = torch.load(path, map_location="cpu", weights_only=True)["state_dict"]
        name = path.parent.relative_to(run / "checkpoints")
        for key, value in state.items():
            out[f"{name}:{key}"] = hashlib.sha256(value.contiguous().numpy().tobytes()).hexdigest()[:12]
    return out


if __name__ == "__main__":
    sys.exit(main())
