"""Weights & Biases: one run per job, offline when there is no key or no network, closed however the job ends."""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atd.errors import AtdError
from tasks.engine.result import Figure, Result, Table, Text

if TYPE_CHECKING:
    from omegaconf import DictConfig

REACH = 10  # seconds within which the server must answer, else the run is kept offline
FINISH = 600  # seconds to upload what is left when the job ends; the rest stays in the folder, `wandb sync` sends it


@contextmanager
def job_run(cfg: DictConfig, out: Path) -> Iterator[Callable[[Result], None]]:
    """The job's run, if logger=wandb, around the whole of it; yields what logs the result. A failure is marked."""
    if cfg.logger.name != "wandb":
        yield lambda result: None
        return
    run = open_run(cfg, out)
    try:
        yield lambda result: log_result(run, result, out)
    except BaseException:
        run.finish(exit_code=1)
        raise
    run.finish()


def wandb_logger(out: Path, name: str):
    """Lightning's logger on the job's run, which the models of a job share under their own names."""
    import wandb
    from lightning.pytorch.loggers import WandbLogger

    return WandbLogger(experiment=wandb.run, save_dir=out, prefix=name)


def sweep_name() -> str | None:
    """The folder of the multirun this job belongs to: its runs are a group."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    if not HydraConfig.initialized() or HydraConfig.get().mode != RunMode.MULTIRUN:
        return None
    return Path(HydraConfig.get().sweep.dir).name


def open_run(cfg: DictConfig, out: Path):
    """Start the job's run, or go on with it. The id is kept in the folder, so a resumed job keeps its run."""
    import wandb
    from omegaconf import OmegaConf

    kept = out / "wandb_id"
    run_id = kept.read_text() if kept.exists() else secrets.token_hex(4)
    kept.write_text(run_id)

    plain: Any = OmegaConf.to_container(cfg, resolve=True)

    def start(mode: Any):
        return wandb.init(
            project=cfg.logger.project,
            entity=cfg.logger.entity,
            group=cfg.logger.group,
            name=f"{cfg.task.name}-{out.name}",
            job_type=cfg.task.name,
            dir=out,
            id=run_id,
            resume="allow",
            mode=mode,
            config=plain,
            settings=wandb.Settings(silent=True, console="off", init_timeout=6 * REACH, finish_timeout=FINISH),
        )

    mode = choose_mode(cfg)
    if mode != "online":
        return start(mode)
    try:
        return start(mode)
    except wandb.errors.CommError as error:
        keep_offline(str(error).splitlines()[0])
        return start("offline")


def choose_mode(cfg: DictConfig) -> str:
    """What was asked for; by itself online where there is a key and the server answers. Never a question."""
    mode = cfg.logger.mode or os.environ.get("WANDB_MODE") or ("online" if has_key() else "offline")
    if mode == "online" and not has_key():
        raise AtdError("logger.mode=online: no W&B key; set WANDB_API_KEY or use logger.mode=offline")
    if mode == "online" and (problem := unreachable()):
        keep_offline(problem)
        return "offline"
    return mode


def has_key() -> bool:
    """A key in the environment or in ~/.netrc. Asking wandb itself might prompt."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    netrc = Path.home() / ".netrc"
    return netrc.is_file() and "wandb" in netrc.read_text(errors="replace")


def unreachable() -> str | None:
    """Why the server does not answer; None when it does. wandb itself would try for minutes."""
    import requests

    server = os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai")
    try:
        requests.head(server, timeout=REACH)
    except requests.RequestException as error:
        return f"{server} does not answer ({type(error).__name__})"
    return None


def keep_offline(problem: str) -> None:
    print(f"W&B: {problem}; the run is kept offline, `wandb sync` sends it later", file=sys.stderr)


def log_result(run, result: Result, out: Path) -> None:
    """Rows, tables, figures, samples and checkpoints of a finished task."""
    import wandb

    run.summary.update({f"{row}/{m}": v for row, ms in result.rows.items() for m, v in ms.items()})
    run.summary["primary"] = result.value
    logged: dict = {"tables/Results": table(result.score_table())}
    for section in result.sections:
        if isinstance(section, Figure):
            logged[f"figures/{section.name}"] = wandb.Image(str(out / "figures" / f"{section.name}.png"))
        elif isinstance(section, Table):
            logged[f"tables/{key(section.title)}"] = table(section)
        elif isinstance(section, Text) and section.samples:
            logged[f"tables/{key(section.title)}"] = table(Table(section.title, ["from", "text"], section.samples))
    run.log(logged)
    checkpoints = sorted(out.glob("checkpoints/*/best.ckpt"))
    if checkpoints:
        artifact = wandb.Artifact(f"{result.task}-{run.id}", type="model", metadata=result.rows)
        for path in checkpoints:
            artifact.add_file(str(path), name=f"{path.parent.name}.ckpt")
        run.log_artifact(artifact)


def table(section: Table):
    import wandb

    rows = [[None if cell is None else str(cell) for cell in row] for row in section.rows]
    return wandb.Table(columns=[str(h) for h in section.header], data=rows)


def key(title: str) -> str:
    """A title as part of a name, of which W&B makes files: columns of a user's table may be called anything."""
    return re.sub(r"[^\w ,.()-]", "-", title)
