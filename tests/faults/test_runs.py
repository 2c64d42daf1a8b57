"""The quick part of what is done to runs: kills, disks and damaged files. A process of its own forks them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FAMILIES = ("kills", "disks", "damage", "checkpoints")


def test_nothing_is_lost():
    command = [sys.executable, "-m", "tests.faults", *FAMILIES, "--quick"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 lost something" in done.stdout
