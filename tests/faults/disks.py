"""Disks that are full or cannot be written: one line that names the place, nothing half-written, and once there is room
the run goes on to the results it would have had."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from omegaconf import DictConfig

from tasks.engine import job
from tests.faults.fault import Effort, Fault
from tests.faults.kills import verdict
from tests.faults.subject import FINISHED, Child, Left, composed, fork, orphans, start, undisturbed


def faults(effort: Effort) -> Iterator[Fault]:
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        whole = undisturbed(scratch)
        yield limited(effort, whole.cfg, scratch, whole.left)
        yield read_only(whole.cfg, scratch)
        if not effort.quick:
            yield from full(effort, whole.cfg, scratch, whole.left)


def limited(effort: Effort, cfg: DictConfig, scratch: Path, expected: Left) -> Fault:
    """The limit on the size of a file does what a full disk does, wherever there is a disk."""
    fault = Fault("disks", "no file may grow beyond a random size; then there is room, and the run is resumed")
    for n in range(effort.times(20, 1)):
        size = effort.draw(f"limit/{n}").randrange(8_000, 60_000)
        cfg.paths.cache = str(scratch / f"cache-limit{n}")
        out = scratch / f"limit{n}"

        def work(out: Path = out, size: int = size) -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
            job.run(cfg, out)

        child = fork(work, scratch / "log")
        loss = refused(child) or left_over(out, Path(cfg.paths.cache)) or verdict(cfg, out, scratch, expected)
        fault.tried(loss and f"try {n} of seed {effort.seed}, {size} bytes: {loss}")
    return fault


def read_only(cfg: DictConfig, scratch: Path) -> Fault:
    """The folder of outputs, of the cache, of sample corpora."""
    fault = Fault("disks", "outputs, cache or samples in a folder that cannot be written")
    sample = composed("logger=none")
    with locked(scratch / "locked") as folder:
        if folder is None:
            fault.skipped = "nothing is read-only to root, and no file system can be mounted here"
            return fault
        for what, settings_of, out in (
            ("outputs", with_cache(cfg, scratch / "free"), folder / "run"),
            ("cache", with_cache(cfg, folder / "cache"), scratch / "run-of-cache"),
            ("samples", with_cache(sample, folder / "cache"), scratch / "run-of-samples"),
        ):
            child = start(settings_of, out, scratch / "log")
            loss = refused(child, must=True)
            if loss is None and str(folder) not in child.last_line:
                loss = f"does not name the folder: {child.last_line}"
            fault.tried(loss and f"{what}: {loss}")
    return fault


def full(effort: Effort, cfg: DictConfig, scratch: Path, expected: Left) -> Iterator[Fault]:
    """A file system in memory with little room, which is then enlarged."""
    for what in ("outputs", "cache"):
        fault = Fault("disks", f"{what} on a disk that is full; then there is room, and the run is resumed")
        with mounted(scratch / f"small-{what}", 16) as small:
            if small is None:
                fault.skipped = "no file system can be mounted here"
                yield fault
                continue
            for n in range(6):
                room = effort.draw(f"{what}/{n}").randrange(16, 600)
                resize(small, room)
                cfg.paths.cache = str((small if what == "cache" else scratch) / f"cache-{what}{n}")
                out = (small if what == "outputs" else scratch) / f"run-{what}{n}"
                child = start(cfg, out, scratch / "log")
                loss = refused(child) or left_over(out, Path(cfg.paths.cache))
                resize(small, 64_000)
                fault.tried((loss := loss or verdict(cfg, out, scratch, expected)) and f"{room} kB: {loss}")
                shutil.rmtree(out, ignore_errors=True)
                shutil.rmtree(cfg.paths.cache, ignore_errors=True)
            yield fault


def refused(child: Child, must: bool = False) -> str | None:
    """None when the run ended, or ended in one line of error."""
    code = child.wait()
    errors = [line for line in child.said.splitlines() if line.startswith("error: ")]
    if code == FINISHED and not must:
        return None
    return None if code == 2 and len(errors) == 1 else f"ended with {code}: {child.last_line}"


def left_over(*folders: Path) -> str | None:
    return f"left {left[0]}" if (left := orphans(*folders)) else None


def with_cache(cfg: DictConfig, cache: Path) -> DictConfig:
    other = cfg.copy()
    other.paths.cache = str(cache)
    return other


@contextmanager
def locked(folder: Path) -> Iterator[Path | None]:
    """A folder that cannot be written: by its mode, or for root by its file system."""
    if os.geteuid() != 0:
        folder.mkdir(mode=0o555)
        yield folder
        return
    with mounted(folder, 16) as small:
        if small is not None:
            subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
        yield small


@contextmanager
def mounted(folder: Path, kilobytes: int) -> Iterator[Path | None]:
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "atd-faults", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def resize(folder: Path, kilobytes: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={kilobytes}k", str(folder)], check=True)
