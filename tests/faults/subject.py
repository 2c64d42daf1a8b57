"""The run that is killed, starved and damaged: a small table, two models, a checkpoint after every step.

Lightning takes longer to import than this run takes. So it is imported once, and every run is a fork of that process.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig

from atd import checkpoint
from atd.errors import AtdError
from atd.files import PART
from tasks.engine import job
from tasks.engine.files import of_disk
from tasks.engine.signals import Stopped, stop_on_signals
from tests.places import write_places
from tests.program import stand_alone

ROOT = Path(__file__).parent.parent.parent
SMALL = ["model.K=16", "model.F=16", "model.D=4", "optim.samples=0", "data.min_count=1", "data.batch_size=64"]
SMALL += ["trainer.threads=1", "trainer.max_epochs=3", "trainer.min_steps=0", "trainer.checkpoint_every=1"]
SMALL += ["task.words=5", "task.controls=[no-attributes,kneser-ney]", "logger=none"]
FINISHED = 0


def settings(table: Path, cache: Path) -> list[str]:
    of_table = ["data=table", f"data.path={table}", "data.text=text", "data.attributes=[place]"]
    return [*of_table, f"paths.cache={cache}", *SMALL]


def composed(*overrides: str) -> DictConfig:
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return compose("config", list(overrides))


@dataclass
class Child:
    """A fork that is at work."""

    pid: int
    log: Path

    def running(self) -> bool:
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def wait(self, seconds: float = 120) -> int:
        """Its exit code, negative of the signal that killed it; a child that hangs is killed."""
        deadline = time.monotonic() + seconds
        while self.running():
            if time.monotonic() > deadline:
                os.kill(self.pid, 9)
            time.sleep(0.005)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")

    @property
    def last_line(self) -> str:
        return (self.said.strip().splitlines() or ["nothing said"])[-1][:200]


def fork(work: Callable[[], object], log: Path) -> Child:
    """`work` in a fork, ended as run.py ends: 0, 2 with one line of error, 128 + a signal, 1 with a traceback."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return Child(pid, log)
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    stand_alone(handle, handle)
    stop_on_signals()
    code = 1
    try:
        work()
        code = FINISHED
    except Stopped as error:
        code = error.code
    except BaseException as error:
        line = str(error) if isinstance(error, AtdError) else of_disk(error)
        code = 1 if line is None else 2
        print(traceback.format_exc() if line is None else f"error: {line}", flush=True)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def start(cfg: DictConfig, out: Path, log: Path) -> Child:
    return fork(lambda: job.run(cfg, out), log)


def resume(cfg: DictConfig, out: Path, log: Path) -> Child:
    """Go on in a folder, or begin there when the run had not come as far as to write its settings."""
    again = cfg.copy()
    if (out / "config.yaml").exists():
        again.resume = str(out)
    return start(again, out, log)


@dataclass(frozen=True)
class Left:
    """What a finished run left: its rows and weights, to compare."""

    rows: dict
    weights: dict[str, torch.Tensor]

    @classmethod
    def by(cls, out: Path) -> Left:
        rows = json.loads((out / "metrics.json").read_text())["rows"]
        files = sorted(out.glob("checkpoints/*/best.ckpt"))
        found = {path.parent.name: checkpoint.read(path)["state_dict"] for path in files}
        return cls(rows, {f"{model}/{name}": value for model, state in found.items() for name, value in state.items()})

    def differs(self, other: Left) -> str | None:
        if self.rows.keys() != other.rows.keys():
            return f"other rows: {', '.join(self.rows.keys() ^ other.rows.keys())}"
        for row, scores in self.rows.items():
            if scores != other.rows[row]:
                return f"other results in {row}: {other.rows[row]} instead of {scores}"
        if self.weights.keys() != other.weights.keys():
            return "other models"
        wrong = [name for name, value in self.weights.items() if not torch.equal(value, other.weights[name])]
        return f"other weights in {wrong[0]}" if wrong else None


def orphans(*folders: Path) -> list[str]:
    """Files that a writer should have taken away."""
    return [str(path) for folder in folders for path in folder.rglob("*") if path.name.endswith((PART, ".tmp"))]


@dataclass(frozen=True)
class Undisturbed:
    """A run that nobody disturbed, in a scratch folder: what others are compared with."""

    cfg: DictConfig
    table: Path
    out: Path
    left: Left
    seconds: float


def undisturbed(scratch: Path) -> Undisturbed:
    table = write_places(scratch / "places.csv", 120)
    cfg = composed(*settings(table, scratch / "cache"))
    out = scratch / "whole"
    started = time.monotonic()
    child = start(cfg, out, scratch / "log")
    assert child.wait() == FINISHED, child.said
    return Undisturbed(cfg, table, out, Left.by(out), time.monotonic() - started)
