"""`run.py`, stopped after its first training step: `python -m tasks.benchmarks.first_step [key=value …]`."""

from __future__ import annotations

import os
import runpy
import sys
import tempfile
from pathlib import Path


def main() -> None:
    from tasks.language_model import LanguageModel

    def stop(*_) -> None:
        os._exit(0)

    LanguageModel.on_train_batch_end = stop
    with tempfile.TemporaryDirectory() as folder:
        sys.argv = ["run.py", f"hydra.run.dir={folder}", *sys.argv[1:]]
        runpy.run_path(str(Path(__file__).parent.parent.parent / "run.py"), run_name="__main__")


if __name__ == "__main__":
    main()
