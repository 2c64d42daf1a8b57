"""A wrong setting is one line that names the key and what is allowed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir

from atd import precision
from atd.errors import AtdError
from tasks.engine.check import check

ROOT = Path(__file__).parent.parent.parent


def composed(*overrides):
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return compose("config", list(overrides))


def test_the_default_configuration_is_accepted():
    check(composed())


def test_bf16_on_a_cpu_is_accepted_where_it_pays(monkeypatch):
    cfg = composed("trainer.precision=bf16-mixed")
    monkeypatch.setattr(precision, "bf16_pays", lambda: True)
    check(cfg)
    monkeypatch.setattr(precision, "bf16_pays", lambda: False)
    with pytest.raises(AtdError, match="bf16-mixed: emulated and very slow here"):
        check(cfg)


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("model.F=0", "model.F=0: must be a whole number, 1 or more"),
        ("model.F=1.5", "model.F=1.5: must be a whole number"),
        ("model.F=many", "model.F=many: must be a whole number"),
        ("model.context=-2", "model.context=-2: must be a whole number, 1 or more"),
        ("model.activation=tanh", "one of relu, identity"),
        ("optim.lr=0", "optim.lr=0: must be a number above 0"),
        ("optim.lr_decay=1.2", "at most 1"),
        ("trainer.threads=0", "a whole number, 1 or more, or null"),
        ("seed=-1", "seed=-1: must be a whole number, 0 or more"),
        ("trainer.precision=16-mixed", "trainer.precision=16-mixed: emulated and very slow here"),
        ("model.sparse=true", "needs optim=adagrad"),
    ],
)
def test_impossible_values_are_explained(override, says):
    with pytest.raises(AtdError, match=says) as error:
        check(composed(override))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["model.G=3"], "model.G: no such key; model has name, K, F, D, context"),
        (["model.contxt=3"], "model.contxt: no such key (did you mean context?)"),
        (["modell.F=3"], "modell: no such key (did you mean model?)"),
        (["task=sentimnet"], "task=sentimnet: no such choice; task is one of "),
        (["model.F=[1"], "model.F=[1: cannot be read as key=value"),
        (["model.F=0"], "model.F=0: must be a whole number, 1 or more"),
        (["resume=nowhere"], "resume=nowhere: no config.yaml there"),
        (["task.a=moby"], "task.a=moby: unknown attribute; it is one of "),
    ],
)
def test_the_command_fails_with_one_line(arguments, says, tmp_path):
    command = [sys.executable, "run.py", *arguments]
    if not arguments[0].startswith("resume"):
        command.append(f"hydra.run.dir={tmp_path}/run")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert len(lines) == 1 and lines[0].startswith(f"error: {says}"), done.stderr


def test_help_shows_groups_and_examples():
    done = subprocess.run([sys.executable, "run.py", "--help"], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    for group in ("task", "data", "model", "optim", "trainer", "logger", "inference", "experiment"):
        assert f"\n{group}: " in done.stdout
    assert done.stdout.count("python run.py") >= 6
