"""`python run.py …` as a user starts it, in a fork of this process, which has paid for the imports.

Importing Lightning takes longer than most runs of the tests. Some tests start Python itself, so that what is imported,
and from where, is tried too: the tour, `--help`, a refusal, a multirun on two processes.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TextIO

import lightning.pytorch  # noqa: F401  what every fork would import anew

import tasks.attributes  # noqa: F401
from atd.machine import wanted

ROOT = Path(__file__).parent.parent


class Program:
    """The program at work, from the folder of the checkout; what it says goes to files."""

    def __init__(self, *words: str, **environment: str) -> None:
        self.out, self.err = (tempfile.TemporaryFile("w+", encoding="utf-8") for _ in range(2))  # noqa: SIM115
        fork = multiprocessing.get_context("fork")
        self.process = fork.Process(target=perform, args=(words, environment, self.out, self.err))
        self.process.start()

    def running(self) -> bool:
        return self.process.is_alive()

    def end(self, signum: int) -> None:
        os.kill(self.process.pid, signum)

    def wait(self, seconds: float = 400) -> subprocess.CompletedProcess:
        """How it ended and what it said; one that hangs is killed."""
        self.process.join(seconds)
        self.process.kill()
        self.process.join()
        said = [file.read() for file in (self.out, self.err) if not file.seek(0)]
        return subprocess.CompletedProcess("run.py", self.process.exitcode, *said)


def run_py(*words: str, **environment: str) -> subprocess.CompletedProcess:
    return Program(*words, **environment).wait()


def perform(words: tuple[str, ...], environment: dict[str, str], out: TextIO, err: TextIO) -> None:
    """In the fork, with the folder and the arguments that a user gives."""
    stand_alone(out.fileno(), err.fileno())
    os.chdir(ROOT)
    os.environ |= environment
    os.environ |= wanted(os.environ)  # so that run.py does not start the process again, which is pytest's
    sys.argv = ["run.py", *words]
    runpy.run_path(str(ROOT / "run.py"), run_name="__main__")


def stand_alone(out: int, err: int) -> None:
    """A fork gets streams of its own, and the signals as a new process has them: pytest and its workers change both."""
    os.dup2(out, 1)
    os.dup2(err, 2)
    sys.stdout, sys.stderr = (open(n, "w", encoding="utf-8", buffering=1, closefd=False) for n in (1, 2))  # noqa: SIM115
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
