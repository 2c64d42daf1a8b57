"""An offline run read back from its file: all that the docs promise is in it, and it is closed however the job ends."""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir

from atd.errors import AtdError
from tasks.engine import job
from tasks.engine import wandb as wandb_run

ROOT = Path(__file__).parent.parent.parent.parent
SMALL = ["model.K=8", "model.F=8", "model.D=4", "data.batch_size=4000", "optim.samples=50", "trainer.max_epochs=1"]
SMALL += ["trainer.min_steps=0", "trainer.threads=1", "task.words=5", "logger=wandb"]


@pytest.fixture(autouse=True)
def nobody(monkeypatch, tmp_path):
    """A user without key and without settings, whatever this machine has."""
    for name in ("WANDB_API_KEY", "WANDB_MODE", "WANDB_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(wandb_run.Path, "home", lambda: tmp_path)
    for name in ("DATA", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"WANDB_{name}_DIR", str(tmp_path / name))


def configured(*overrides: str):
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return compose("config", [*SMALL, *overrides])


@functools.cache
def records(folder: Path) -> list[dict]:
    """Every record of the run file in one of wandb's own offline folders, as its viewer prints them."""
    command = [sys.executable, "-m", "wandb", "leet", "inspect", "--json", str(folder)]
    lines = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def of_kind(kind: str, folder: Path) -> list[dict]:
    return [r[kind] for r in records(folder) if r["type"] == kind]


@pytest.fixture
def broken(monkeypatch):
    """A task that fails half way."""
    import tasks.attributes

    def run(cfg, out):
        raise RuntimeError("half way")

    monkeypatch.setattr(tasks.attributes, "run", run)


def test_what_an_offline_run_holds(tmp_path):
    out = tmp_path / "run"
    value = job.run(configured("logger.group=a-sweep"), out)
    (folder,) = out.glob("wandb/offline-run-*")
    run_id = (out / "wandb_id").read_text()
    assert folder.name.endswith(run_id)
    (run,) = of_kind("run", folder)
    assert (run["run_id"], run["run_group"], run["project"]) == (run_id, "a-sweep", "atd")
    config = run["config"]["update"]
    assert config["model"]["K"] == 8 and config["optim"]["samples"] == 50 and config["seed"] == 0

    history = {key for record in of_kind("history", folder) for key in record["item"]}
    assert {"atd-val/perplexity", "lbl-val/perplexity", "atd-train/loss", "lbl-train/loss"} <= history
    summary = {k: v for record in of_kind("summary", folder) for k, v in record["update"].items()}
    assert summary["primary"] == summary["atd/perplexity"] == value and summary["kneser-ney/perplexity_dev"] > 1

    media = {re.sub(r"_\d+_\w+\.", ".", f["path"]) for r in of_kind("files", folder) for f in r["files"]}
    for name in ("learning_curves", "attribute_map", "attribute_similarity"):
        assert f"media/images/figures/{name}.png" in media
    for title in ("Results", "Nearest by book", "Conditional word similarity", "Samples"):
        assert f"media/table/tables/{title}.table.json" in media
    (samples,) = folder.glob("files/media/table/tables/Samples_*.json")
    assert len(json.loads(samples.read_text())["data"]) == 3

    (model,) = (r for r in of_kind("artifact", folder) if r["name"] == f"attributes-{run_id}")
    assert {f["path"] for f in model["manifest"]["contents"]} == {"atd.ckpt", "lbl.ckpt", "no-attributes.ckpt"}
    assert of_kind("exit", folder)[0].get("exit_code", 0) == 0


def test_a_failed_job_is_marked_and_a_resumed_one_keeps_its_run(tmp_path, broken):
    out = tmp_path / "run"
    for _ in range(2):
        with pytest.raises(RuntimeError, match="half way"):
            job.run(configured(), out)
        time.sleep(1.1)  # wandb names folders by the second
    folders = sorted(out.glob("wandb/offline-run-*"))
    assert len(folders) == 2 and len({f.name.rsplit("-", 1)[1] for f in folders}) == 1
    for folder in folders:
        assert of_kind("exit", folder)[0]["exit_code"] == 1
    import wandb

    assert wandb.run is None


def test_online_without_network_is_one_line_and_offline(tmp_path, broken, monkeypatch, capsys):
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
    since = time.monotonic()
    with pytest.raises(RuntimeError, match="half way"):
        job.run(configured(), tmp_path / "run")
    assert time.monotonic() - since < 30
    assert "http://127.0.0.1:9 does not answer" in capsys.readouterr().err
    assert list((tmp_path / "run").glob("wandb/offline-run-*"))


def test_the_mode_is_chosen_without_a_question(monkeypatch):
    assert wandb_run.choose_mode(configured()) == "offline"
    assert wandb_run.choose_mode(configured("logger.mode=disabled")) == "disabled"
    with pytest.raises(AtdError, match="set WANDB_API_KEY"):
        wandb_run.choose_mode(configured("logger.mode=online"))
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    monkeypatch.setattr(wandb_run, "unreachable", lambda: None)
    assert wandb_run.choose_mode(configured()) == "online"
    monkeypatch.setenv("WANDB_MODE", "offline")
    assert wandb_run.choose_mode(configured()) == "offline"


def test_runs_of_a_multirun_are_a_group(monkeypatch):
    from types import SimpleNamespace

    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    assert wandb_run.sweep_name() is None
    found = SimpleNamespace(mode=RunMode.MULTIRUN, sweep=SimpleNamespace(dir="outputs/multirun/attributes/2026-01-31"))
    monkeypatch.setattr(HydraConfig, "initialized", lambda: True)
    monkeypatch.setattr(HydraConfig, "get", lambda: found)
    assert wandb_run.sweep_name() == "2026-01-31"
