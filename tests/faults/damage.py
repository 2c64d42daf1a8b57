"""Every kind of file that a run leaves, damaged in every way that is usual; then the run is resumed.

Nothing is lost when it ends with the results and the bits it would have had, or refuses in one line that names the
file. Only the settings, `config.yaml`, cannot be made anew.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from omegaconf import DictConfig

from tests.faults.fault import Effort, Fault
from tests.faults.subject import FINISHED, Left, orphans, resume, start, undisturbed

KINDS = {  # a pattern of each kind of file, in a run folder or in the cache
    "last checkpoint": "checkpoints/*/last.ckpt",
    "last but one": "checkpoints/*/before.ckpt",
    "best weights": "checkpoints/*/best.ckpt",
    "learning curve": "checkpoints/*/finished.json",
    "row of results": "rows/*.npz",
    "results": "metrics.json",
    "settings": "config.yaml",
    "versions": "versions.json",
    "record of corpora": "corpora.json",
    "encoded corpus": "*.arrow",
    "facts of a corpus": "*.json",
}
QUICK = ("last checkpoint", "best weights", "row of results", "settings")
OF_CACHE = ("encoded corpus", "facts of a corpus")


def flip(data: bytes, draw: random.Random) -> bytes:
    out = bytearray(data)
    out[draw.randrange(len(out))] ^= 1 << draw.randrange(8)
    return bytes(out)


WAYS: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "cut": lambda data, draw: data[: draw.randrange(len(data))],
    "a bit flipped": flip,
    "emptied": lambda data, draw: b"",
    "filled with zeros": lambda data, draw: bytes(len(data)),
}


def faults(effort: Effort) -> Iterator[Fault]:
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        whole = undisturbed(scratch)
        stopped = [whole.out, *(stop_in(whole.cfg, scratch, model) for model in ("atd", "no-attributes"))]
        for kind, pattern in KINDS.items():
            if effort.quick and kind not in QUICK:
                continue
            yield damaged(effort, whole.cfg, scratch, stopped, whole.left, kind, pattern)


def stop_in(cfg: DictConfig, scratch: Path, model: str) -> Path:
    """The folder of a run that was killed while it trained a model, after its first epoch."""
    out = scratch / f"stopped-{model}"
    child = start(cfg, out, scratch / "log")
    while child.running() and not (out / f"checkpoints/{model}/best.ckpt").exists():
        time.sleep(0.002)
    if child.running():
        os.kill(child.pid, signal.SIGKILL)
    child.wait()
    return out


def damaged(
    effort: Effort, cfg: DictConfig, scratch: Path, stopped: list[Path], expected: Left, kind: str, pattern: str
) -> Fault:
    fault = Fault("damage", f"{kind}: {', '.join(WAYS)}")
    for n in range(effort.times(8, 1)):
        draw = effort.draw(f"{kind}/{n}")
        out = scratch / "damaged"
        shutil.rmtree(out, ignore_errors=True)
        cache = scratch / "cache"
        files = cache if kind in OF_CACHE else out
        from_there = [one for one in stopped if kind in OF_CACHE or list(one.glob(pattern))]
        shutil.copytree(from_there[n % len(from_there)], out)
        path = draw.choice(sorted(files.glob(pattern)))
        way = list(WAYS)[n % len(WAYS)]
        path.write_bytes(WAYS[way](path.read_bytes(), draw))
        child = resume(cfg, out, scratch / "log")
        code = child.wait()
        loss = None
        if code == 2 and kind == "settings":
            loss = None if str(path) in child.last_line else f"does not name the file: {child.last_line}"
        elif code != FINISHED:
            loss = f"ended with {code}: {child.last_line}"
        elif kind != "settings" or (out / "metrics.json").exists():
            loss = expected.differs(Left.by(out)) or (f"left {left[0]}" if (left := orphans(out)) else None)
        fault.tried(loss and f"try {n} of seed {effort.seed}, {path.name} {way}: {loss}")
    return fault
