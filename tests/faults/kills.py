"""Kills at random moments of a run, from reading the table to writing the report; then the run is resumed.

Nothing is lost when it ends with the same results and the same bits as a run that nobody disturbed, every file can be
read, and no half-written one stays behind.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from omegaconf import DictConfig

from atd.errors import AtdError
from tasks.engine import job
from tasks.learning.training import Finite
from tests.faults.fault import Effort, Fault
from tests.faults.subject import FINISHED, ROOT, Left, fork, orphans, resume, settings, start, undisturbed

MEMORY = Path("/dev/shm")  # another file system than that of temporary files
HOOKS = ("on_validation_start", "on_validation_end", "on_train_epoch_end")  # of a callback that every training has
PATIENCE = 10  # seconds from a signal to the end
DDP = ["trainer=ddp_cpu", "trainer.devices=2"]


def faults(effort: Effort) -> Iterator[Fault]:
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        whole = undisturbed(scratch)
        cfg, expected, seconds = whole.cfg, whole.left, whole.seconds
        yield killed(effort, cfg, scratch, expected, seconds, "one file system", effort.times(30, 1))
        yield at_the_end_of_an_epoch(effort, cfg, scratch, expected)
        yield on_another_file_system(effort, cfg, expected, seconds)
        for signum in (signal.SIGINT,) if effort.quick else (signal.SIGTERM, signal.SIGINT):
            yield signalled(effort, cfg, scratch, expected, seconds, signum)
        if not effort.quick:
            yield several_processes(effort, whole.table, scratch)
            yield search(effort, whole.table, scratch)


def killed(
    effort: Effort, cfg: DictConfig, scratch: Path, expected: Left, seconds: float, where: str, times: int
) -> Fault:
    """SIGKILL at a random moment, and in every third try again while the run is resumed."""
    fault = Fault("kills", f"SIGKILL at a random moment, resumed; outputs and temporary files on {where}")
    for n in range(times):
        draw = effort.draw(f"{fault.name}/{n}")
        cfg.paths.cache = str(scratch / f"cache{n}")  # empty: the kill may come while it is built
        out = scratch / f"run{n}"
        child = start(cfg, out, scratch / "log")
        for again in range(1 + (n % 3 == 2)):
            if again:
                child = resume(cfg, out, scratch / "log")
            time.sleep(draw.uniform(0, seconds * 1.2))
            if child.running():
                os.kill(child.pid, signal.SIGKILL)
            child.wait()
        fault.tried(repeated(verdict(cfg, out, scratch, expected), effort, n))
    return fault


def at_the_end_of_an_epoch(effort: Effort, cfg: DictConfig, scratch: Path, expected: Left) -> Fault:
    """SIGKILL when the steps of an epoch are done and its validation is not, or just is."""
    fault = Fault("kills", "SIGKILL between the last step of an epoch and the first of the next, resumed")
    cfg.paths.cache = str(scratch / "cache")
    for n, hook in enumerate(HOOKS[: effort.times(len(HOOKS), 1)]):
        out = scratch / hook

        def work(out: Path = out, hook: str = hook) -> None:
            setattr(Finite, hook, lambda *arguments: os.kill(os.getpid(), signal.SIGKILL))
            job.run(cfg, out)

        fork(work, scratch / "log").wait()
        fault.tried(repeated(verdict(cfg, out, scratch, expected), effort, n))
    return fault


def on_another_file_system(effort: Effort, cfg: DictConfig, expected: Left, seconds: float) -> Fault:
    """The run folder in memory, temporary files on the disk."""
    if not MEMORY.is_dir() or MEMORY.stat().st_dev == Path(tempfile.gettempdir()).stat().st_dev:
        return Fault("kills", "SIGKILL with outputs on another file system", skipped=f"{MEMORY} is no other device")
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        return killed(effort, cfg, Path(name), expected, seconds, "two file systems", effort.times(25, 1))


def signalled(effort: Effort, cfg: DictConfig, scratch: Path, expected: Left, seconds: float, signum: int) -> Fault:
    """A signal that a program may answer: it must end in time, with its exit code and the command that goes on."""
    name = signal.Signals(signum).name
    fault = Fault("kills", f"{name} at a random moment, resumed")
    for n in range(effort.times(10, 1)):
        draw = effort.draw(f"{fault.name}/{n}")
        cfg.paths.cache = str(scratch / f"cache-{name}{n}")
        out = scratch / f"{name}{n}"
        child = start(cfg, out, scratch / "log")
        time.sleep(draw.uniform(0.1 * seconds, 0.9 * seconds))
        os.kill(child.pid, signum)
        sent = time.monotonic()
        code = child.wait()
        took = time.monotonic() - sent
        lost = None
        if took > PATIENCE:
            lost = f"ended {took:.0f} s later"
        elif code not in (FINISHED, 128 + signum):
            lost = f"exit code {code}: {child.last_line}"
        elif code and (out / "config.yaml").exists() and f"resume={out}" not in child.said:
            lost = f"did not say how to go on: {child.last_line}"
        fault.tried(repeated(lost or verdict(cfg, out, scratch, expected), effort, n))
    return fault


def verdict(cfg: DictConfig, out: Path, scratch: Path, expected: Left) -> str | None:
    """Resume to the end and compare; None = nothing was lost."""
    if not (out / "metrics.json").exists():
        child = resume(cfg, out, scratch / "log")
        if (code := child.wait()) != FINISHED:
            return f"the resumed run ended with {code}: {child.last_line}"
    try:
        return expected.differs(Left.by(out)) or (f"left {left[0]}" if (left := orphans(out)) else None)
    except (AtdError, OSError, ValueError) as error:
        return f"unreadable: {error}"


def repeated(loss: str | None, effort: Effort, n: int) -> str | None:
    return None if loss is None else f"try {n} of seed {effort.seed}: {loss}"


def several_processes(effort: Effort, table: Path, scratch: Path) -> Fault:
    """Two processes train one model (Gloo); run.py is killed, which must take both along."""
    fault = Fault("kills", "SIGKILL of run.py while two processes train (DDP), resumed")
    given = [*settings(table, scratch / "cache"), *DDP, "task.controls=[]"]
    command = [sys.executable, str(ROOT / "run.py")]
    whole = scratch / "ddp"
    subprocess.run([*command, *given, f"hydra.run.dir={whole}"], capture_output=True, check=True, timeout=200)
    expected = Left.by(whole)
    for n in range(3):
        out = scratch / f"ddp{n}"
        kill_at([*command, *given, f"hydra.run.dir={out}"], out / "checkpoints/atd/last.ckpt", effort.draw(f"ddp{n}"))
        done = subprocess.run([*command, f"resume={out}"], capture_output=True, text=True, timeout=200)
        ended = (done.stderr.strip().splitlines() or [""])[-1]
        lost = f"exit {done.returncode}: {ended}" if done.returncode else expected.differs(Left.by(out))
        fault.tried(repeated(lost, effort, n))
    return fault


def search(effort: Effort, table: Path, scratch: Path) -> Fault:
    """A search over settings is killed; the same command goes on and finds the same."""
    fault = Fault("kills", "SIGKILL of a search (multirun), same command again")
    command = [sys.executable, str(ROOT / "run.py"), "-m", *settings(table, scratch / "cache"), "task.controls=[]"]
    command += ["sweep=quick", "sweep.trials=3", "sweep.parallel=1"]

    def summary(folder: Path) -> str:
        subprocess.run([*command, f"hydra.sweep.dir={folder}"], capture_output=True, check=True, timeout=300)
        return "".join(sorted((path / "metrics.json").read_text().partition('"seconds"')[0] for path in trials(folder)))

    expected = summary(scratch / "search")
    for n in range(2):
        folder = scratch / f"search{n}"
        kill_at([*command, f"hydra.sweep.dir={folder}"], folder / "0/config.yaml", effort.draw(f"search{n}"), 8)
        fault.tried(repeated(None if summary(folder) == expected else "other trials", effort, n))
    return fault


def trials(folder: Path) -> list[Path]:
    return [path.parent for path in folder.glob("*/metrics.json")]


def kill_at(command: list[str], marker: Path, draw, seconds: float = 1.0) -> None:
    """Start a program and kill it a little after a file appears."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not marker.exists():
        time.sleep(0.02)
    time.sleep(draw.uniform(0, seconds))
    process.kill()
    process.wait()
