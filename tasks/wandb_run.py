"""Weights & Biases: one run per job, offline when there is no key, and closed when the job ends."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.result import Figure, Result, Table, Text

if TYPE_CHECKING:
    from omegaconf import DictConfig


def wandb_logger(cfg: DictConfig, out: Path, name: str):
    """Lightning's logger on the job's one run, which the models of a job share under their own names."""
    from lightning.pytorch.loggers import WandbLogger

    return WandbLogger(experiment=open_run(cfg, out), save_dir=out, prefix=name)


def open_run(cfg: DictConfig, out: Path):
    """Start the job's run, or go on with it. The id is kept in the folder, so a resumed job keeps its run."""
    import wandb
    from omegaconf import OmegaConf

    if wandb.run is not None:
        return wandb.run
    mode = cfg.logger.mode or os.environ.get("WANDB_MODE") or ("online" if has_key() else "offline")
    kept = out / "wandb_id"
    run_id = kept.read_text() if kept.exists() else secrets.token_hex(4)
    kept.write_text(run_id)
    return wandb.init(
        project=cfg.logger.project,
        entity=cfg.logger.entity,
        group=cfg.logger.group,
        name=f"{cfg.task.name}-{out.name}",
        dir=out,
        id=run_id,
        resume="allow",
        mode=mode,
        config=OmegaConf.to_container(cfg, resolve=True),
        settings=wandb.Settings(silent=True, console="off"),
    )


def has_key() -> bool:
    """A key in the environment or in ~/.netrc. Asking wandb itself might prompt."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    netrc = Path.home() / ".netrc"
    return netrc.is_file() and "wandb" in netrc.read_text(errors="replace")


def log_result(result: Result, out: Path) -> None:
    """Rows, tables, figures, samples and checkpoints of a finished task; then close the run."""
    import wandb

    if wandb.run is None:
        return
    wandb.run.summary.update({f"{row}/{m}": v for row, ms in result.rows.items() for m, v in ms.items()})
    wandb.run.summary["primary"] = result.value
    logged: dict = {}
    for section in result.sections:
        if isinstance(section, Figure):
            logged[f"figures/{section.name}"] = wandb.Image(str(out / "figures" / f"{section.name}.png"))
        elif isinstance(section, Table):
            rows = [[None if cell is None else str(cell) for cell in row] for row in section.rows]
            logged[f"tables/{section.title}"] = wandb.Table(columns=[str(h) for h in section.header], data=rows)
        elif isinstance(section, Text) and section.samples:
            rows = [list(sample) for sample in section.samples]
            logged[f"tables/{section.title}"] = wandb.Table(columns=["from", "text"], data=rows)
    wandb.log(logged)
    checkpoints = sorted(out.glob("checkpoints/*/best.ckpt"))
    if checkpoints:
        artifact = wandb.Artifact(f"{result.task}-{wandb.run.id}", type="model", metadata=result.rows)
        for path in checkpoints:
            artifact.add_file(str(path), name=f"{path.parent.name}.ckpt")
        wandb.log_artifact(artifact)
    wandb.finish()
