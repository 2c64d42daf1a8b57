"""How far a training is, on one line of the terminal."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from atd.training import Progress


class Line:
    """Writes to stderr, on a terminal over and over the same line; after an epoch the line stays."""

    def __init__(self, to: TextIO | None = None):
        self.to = to or sys.stderr
        self.since = time.monotonic()
        self.last = 0.0

    def __call__(self, at: Progress) -> None:
        now = time.monotonic()
        epoch = f"epoch {at.epoch + 1} of {at.epochs}"
        if at.perplexity is not None:
            self._write(f"{epoch}: validation perplexity {at.perplexity:.1f}", "\n")
        elif self.to.isatty() and now - self.last > 0.2:
            self.last = now
            left = (now - self.since) / at.step * (at.steps - at.step)
            self._write(f"{epoch}, step {at.step} of {at.steps}, at most {left:.0f} s left", "")

    def _write(self, text: str, end: str) -> None:
        clear = "\r\x1b[K" if self.to.isatty() else ""
        self.to.write(f"{clear}{text}{end}")
        self.to.flush()
