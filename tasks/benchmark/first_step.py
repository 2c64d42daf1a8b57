"""`run.py`, stopped after its first training step: `python -m tasks.benchmark.first_step [key=value …]`."""

from __future__ import annotations

import os
import runpy
import sys
import tempfile
from pathlib import Path

MADE = "first step made"


def main() -> None:
    from tasks.learning.language_model import LanguageModel

    def stop(module, outputs, batch, batch_idx) -> None:
        print(f"{MADE}: loss {float(outputs['loss']):.3f}", file=sys.stderr, flush=True)
        os._exit(0)

    LanguageModel.on_train_batch_end = stop  # type: ignore[method-assign, assignment]
    with tempfile.TemporaryDirectory() as folder:
        sys.argv = ["run.py", f"hydra.run.dir={folder}", *sys.argv[1:]]
        runpy.run_path(str(Path(__file__).parent.parent.parent / "run.py"), run_name="__main__")


if __name__ == "__main__":
    main()
