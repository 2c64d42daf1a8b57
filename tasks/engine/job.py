"""One job from composed configuration to report: check, seed, dispatch, write, print."""

from __future__ import annotations

import gc
import importlib
import json
import os
import shlex
import sys
import time
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from omegaconf import DictConfig, OmegaConf, open_dict

from atd.errors import AtdError, reason_of
from atd.files import write_whole
from atd.machine import processor
from datamodules.record import recorded
from tasks.engine import processes
from tasks.engine.check import check
from tasks.engine.files import forget, own_folder
from tasks.engine.next_steps import next_steps
from tasks.engine.numbers import lines, number
from tasks.engine.precision import precision_of
from tasks.engine.report import shown_scores, write_metrics, write_report
from tasks.engine.result import Result
from tasks.engine.revision import revision
from tasks.engine.secrets import without_secrets
from tasks.engine.seeding import seed_all
from tasks.engine.sentence import first_sentence
from tasks.engine.signals import Stopped, how_to_go_on
from tasks.engine.synthetic import is_synthetic
from tasks.engine.wandb import job_run, sweep_name

SHOWN = ("torch", "lightning", "torchmetrics", "hydra-core", "spacy", "scikit-learn", "numpy", "pyarrow")


def run(cfg: DictConfig, out: Path) -> float:
    """Run the task in folder `out`; returns the primary metric, which a sweep optimises."""
    started = time.monotonic()
    if processes.rank() > 0:
        processes.serve()
        return float("nan")
    if int(os.environ.get("SLURM_RESTART_COUNT", 0)) and (out / "config.yaml").exists():
        cfg.resume = str(out)  # requeued: the same job, in the same folder
    if cfg.resume:
        cfg = resumed(cfg, out)
    with own_folder(out, bool(cfg.resume)) as own:
        try:
            return run_in(own, cfg, started)
        except Stopped as error:
            print(how_to_go_on(error, own), file=sys.stderr)
            raise
        except AtdError:
            if not cfg.resume:
                forget(own)
            raise


def run_in(out: Path, cfg: DictConfig, started: float) -> float:
    """The same in a folder that no other run has."""
    take_over(cfg)
    try:
        check(cfg)
    except AtdError as error:
        if not cfg.resume:
            raise
        raise AtdError(f"{out / 'config.yaml'}: {error}") from None
    resolve_vectors(cfg)
    cfg.trainer.precision = precision_of(cfg.trainer)
    if cfg.logger.name == "wandb" and cfg.logger.group is None:
        cfg.logger.group = sweep_name()
    facts = describe(cfg)
    if cfg.resume:
        facts |= {key: value for key, value in read_facts(out).items() if key == "command"}  # that began it
    else:
        write_whole(out / "config.yaml", facts["config"])
        write_whole(out / "versions.json", json.dumps({**facts, "config": "config.yaml"}, indent=2) + "\n")
    if processes.must_launch(cfg):
        processes.launch(cfg, out)
        return json.loads((out / "metrics.json").read_text())["value"]
    return perform(cfg, out, facts, started)


def perform(cfg: DictConfig, out: Path, facts: dict[str, str], started: float) -> float:
    """The task itself and what it leaves."""
    processes.connect()
    seed_all(cfg.seed)
    if cfg.trainer.threads:
        import torch

        torch.set_num_threads(cfg.trainer.threads)
    task = importlib.import_module(f"tasks.{cfg.task.name}")
    gc.collect()
    gc.freeze()  # what is there now stays: every later look for garbage, one a row, would take a quarter of a second
    with recorded(out / "corpora.json"), job_run(cfg, out) as log:
        result: Result = task.run(cfg, out)
        seconds = time.monotonic() - started
        write_metrics(result, out, seconds)
        result.steps += next_steps(cfg, out)
        report = write_report(result, out, seconds, facts, is_synthetic(cfg))
        log(result)
    show(result, report)
    return result.value


def main(out: Path, resume: str) -> None:
    """One of several processes of the job whose configuration lies in `out`."""
    processes.end_with_parent()
    if processes.rank() > 0:
        return processes.serve()
    cfg = OmegaConf.load(out / "config.yaml")
    assert isinstance(cfg, DictConfig)
    cfg.resume = resume or None
    facts = read_facts(out) | {"config": (out / "config.yaml").read_text()}
    try:
        perform(cfg, out, facts, time.monotonic())
    except AtdError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


def resumed(cfg: DictConfig, out: Path) -> DictConfig:
    """The configuration of the run that is continued, as it was."""
    path = out / "config.yaml"
    try:
        saved = OmegaConf.load(path)
        if not isinstance(saved, DictConfig) or not set(cfg) <= set(saved):
            raise ValueError("not the settings of a run")
    except Exception as error:  # YAML's, OmegaConf's and those of text that is none have nothing in common
        command = read_facts(out).get("command", "the command that began it")
        raise AtdError(f"{path}: damaged ({reason_of(error)}); start a new run: {command}") from None
    saved.resume = str(cfg.resume)
    return saved


def read_facts(out: Path) -> dict[str, str]:
    """What `describe` said when the run began, as far as it can be read."""
    try:
        return dict(json.loads((out / "versions.json").read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def take_over(cfg: DictConfig) -> None:
    """What `init_from` decides: the model is the trained one's, and texts are tokenised as its were."""
    if not cfg.init_from or cfg.resume:
        return
    from atd.joining import check_joinable
    from atd.models import load

    old = load(str(cfg.init_from))
    check_joinable(old)
    assert old.tokeniser is not None
    with open_dict(cfg):
        cfg.model = {**old.config, "vectors": None}
        cfg.data.tokeniser = asdict(old.tokeniser)


def resolve_vectors(cfg: DictConfig) -> None:
    """`model.vectors=glove` becomes the path of the file. The samples' words are few: they start without vectors."""
    if OmegaConf.select(cfg, "model.vectors") != "glove":
        return
    if OmegaConf.select(cfg, "data.sample"):
        cfg.model.vectors = None
    else:
        from datamodules.vectors import find_glove

        cfg.model.vectors = str(find_glove(cfg.paths.data, cfg.model.K))


def describe(cfg: DictConfig) -> dict[str, str]:
    """What made this run: seed, revision, command, versions and the resolved configuration."""
    versions = {"python": sys.version.split()[0]}
    for package in SHOWN:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "seed": str(cfg.seed),
        "revision": revision(),
        "command": without_secrets(shlex.join(["python", "run.py", *sys.argv[1:]])),
        "versions": "\n".join(f"{k} {v}" for k, v in versions.items()),
        "machine": processor(),
        "config": without_secrets(OmegaConf.to_yaml(cfg, resolve=True)),
    }


def show(result: Result, report: Path) -> None:
    """The last lines a user sees: the results beside the baselines, and where the report is."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    scores = shown_scores(result)
    table = Table(box=SIMPLE_HEAD)
    for name in scores.header:
        table.add_column(name, justify="left" if not name else "right", no_wrap=not name)
    for row in lines(scores.rows):
        table.add_row(*row)
    console = Console(width=None if sys.stdout.isatty() else 150, markup=False, emoji=False)  # names are text
    console.print(f"{result.task}: {result.primary} = {number(result.shown)}", highlight=False, soft_wrap=True)
    console.print(table)
    console.print(first_sentence(result), highlight=False, soft_wrap=True)
    console.print(f"report: {report}", highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
