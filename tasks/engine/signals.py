"""A run is asked to end, by Ctrl-C or `kill`: exit code 128 + the signal, and the command that continues it."""

from __future__ import annotations

import shlex
import signal
from pathlib import Path
from typing import Any, NoReturn


class Stopped(BaseException):
    """Not an error that a task might handle."""

    def __init__(self, signum: int) -> None:
        super().__init__(f"stopped by {signal.Signals(signum).name}")
        self.code = 128 + signum


def stop(signum: int, frame: Any = None) -> NoReturn:
    raise Stopped(signum)


def stop_on_signals() -> None:
    """Ctrl-C and SIGTERM raise `Stopped` in the main thread, unless someone else waits for them."""
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, stop)
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        signal.signal(signal.SIGINT, stop)


def how_to_go_on(error: BaseException, out: Path) -> str:
    """The line for a user whose run was stopped."""
    if not (out / "config.yaml").exists():
        return f"{error} before there was anything to continue"
    return f"{error}; this continues the run: python run.py {shlex.quote(f'resume={out}')}"
