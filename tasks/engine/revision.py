"""Which program it was."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
PAGES = ("docs", "*.md")  # that results are written into


def revision(folder: Path = HERE) -> str:
    """The git revision, marked when files of the program differ from it."""
    try:
        program = (":/", *(f":(top,exclude){page}" for page in PAGES))
        changed = git(folder, "status", "--porcelain", "--untracked-files=no", "--", *program)
        return git(folder, "describe", "--always") + ("-dirty" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return os.environ.get("ATD_REVISION", "unknown")  # an image has no git


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
