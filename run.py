"""The one entry: `python run.py --help` lists the groups and some examples.

The program runs from the folder of this file, wherever it is called from: `tasks`, `datamodules` and `hydra_plugins`
are installed nowhere. So the folder comes first on the path of this process and of those it starts.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from omegaconf import DictConfig

ROOT = Path(__file__).resolve().parent
CONF = ROOT / "conf"


def first(folder: str, path: list[str]) -> list[str]:
    return [folder, *(other for other in path if other and other != folder)]


sys.path[:] = first(str(ROOT), sys.path)
os.environ["PYTHONPATH"] = os.pathsep.join(first(str(ROOT), os.environ.get("PYTHONPATH", "").split(os.pathsep)))
os.environ["HYDRA_FULL_ERROR"] = "1"  # errors reach main() below, which explains them in one line


def job(cfg: DictConfig) -> float:
    from hydra.core.hydra_config import HydraConfig

    from atd.errors import AtdError
    from tasks.engine.files import of_disk
    from tasks.engine.job import run

    try:
        return run(cfg, Path(HydraConfig.get().runtime.output_dir))
    except AtdError as error:  # here rather than in main(): Hydra would add lines of its own
        fail(str(error))
    except OSError as error:
        if (line := of_disk(error)) is None:
            raise
        fail(line)


def fail(line: str) -> NoReturn:
    print(f"error: {line}", file=sys.stderr)
    sys.exit(2)


def main() -> int:
    if find_spec("hydra") is None:
        fail(f"{sys.executable} has no Hydra; `make run` sets up .venv, and `. .venv/bin/activate` enters it")
    import hydra

    from atd.errors import AtdError
    from tasks.engine import processes
    from tasks.engine.explanation import explain
    from tasks.engine.files import of_disk
    from tasks.engine.overrides import resume_arguments
    from tasks.engine.signals import Stopped, stop_on_signals

    stop_on_signals()
    if processes.rank() > 0:  # of torchrun or srun: needs no configuration, and no folder of its own
        processes.serve()
        return 0
    try:
        sys.argv[1:] = resume_arguments(sys.argv[1:])
        hydra.main(version_base="1.3", config_path="conf", config_name="config")(job)()
    except AtdError as error:
        fail(str(error))
    except Stopped as error:
        return error.code
    except Exception as error:
        if (line := explain(error, CONF, sys.argv[1:]) or of_disk(error)) is None:
            raise
        fail(line)
    return 0


if __name__ == "__main__":
    from atd.machine import prepare

    prepare()
    sys.exit(main())
