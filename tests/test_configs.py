"""Every choice of every group composes, passes the checks, and names things that exist."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import pytest
import small_runs
from hydra import compose, initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from hydra.utils import get_class
from omegaconf import OmegaConf

from atd.errors import AtdError
from tasks.engine.check import check

CONF = Path(__file__).parent.parent / "conf"
GROUPS = ("task", "data", "model", "optim", "trainer", "logger", "inference", "sweep", "cluster", "experiment")
CHOICES = [(group, path.stem) for group in GROUPS for path in sorted((CONF / group).glob("*.yaml"))]


# What goes with a choice that the tour cannot use, or that has no default for something.
COMPANIONS = {
    ("data", "europarl_rcv"): ["task=crosslingual"],
    ("data", "europarl_rcv_sample"): ["task=crosslingual"],
    ("data", "table"): ["data.path=reviews.csv", "data.attributes=[age]"],
    ("data", "folder"): ["data.path=letters"],
    ("data", "graphs"): ["task=graphs"],
    ("data", "graphs_sample"): ["task=graphs"],
    ("data", "verses"): ["task=kinship"],
    ("data", "verses_sample"): ["task=kinship"],
    ("data", "reviewers"): ["task=matching"],
    ("data", "reviewers_sample"): ["task=matching"],
    ("data", "parallel"): ["task=crosslingual", "data.path=pairs.csv", "data.sides={en: english, de: german}"],
    ("model", "lbl"): ["task=infer"],  # the baseline of other models: no task trains it as its own
    ("model", "meaning"): ["task=kinship"],
    ("model", "ranking"): ["task=crosslingual"],
    ("model", "unshared"): ["task=languages"],
    ("optim", "rows"): ["task=crosslingual"],
}


def composed(*overrides: str):
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("config", list(overrides))


@pytest.mark.parametrize(("group", "choice"), CHOICES, ids=lambda v: v)
def test_every_choice_composes(group, choice):
    cfg = composed(f"{group}={choice}", *COMPANIONS.get((group, choice), []))
    OmegaConf.to_container(cfg, resolve=True)  # every interpolation has an answer
    check(cfg)
    assert importlib.util.find_spec(f"tasks.{cfg.task.name}"), cfg.task.name
    assert get_class(cfg.data._target_)


def test_every_task_can_be_chosen():
    names = {composed(f"task={choice}").task.name for group, choice in CHOICES if group == "task"}
    assert names == {choice for group, choice in CHOICES if group == "task"} - {"controls"}
    assert composed("task=controls").task.name == "attributes"


def test_a_task_brings_its_data_and_the_command_line_has_the_last_word():
    assert composed("task=attributes").data._target_ == "datamodules.gutenberg.Gutenberg"
    assert composed("task=attributes", "model.K=7").model.K == 7
    assert composed("task=attributes", "data=table", "data.path=x.csv", "data.text=t").data.path == "x.csv"


def test_a_task_may_not_be_misspelt_silently():
    from omegaconf.errors import ConfigAttributeError

    with pytest.raises(Exception) as error:
        composed("trainer.max_epoch=3")
    assert isinstance(error.value.__cause__, ConfigAttributeError) or "max_epoch" in str(error.value)


def test_what_a_task_sets_for_another_choice_is_left_out_unless_it_was_typed(monkeypatch):
    """task=languages sets optim.decay; the paper's optimiser has none."""
    choices = ["task=languages", "optim=sgd"]
    assert "decay" in composed(*choices).optim
    cfg = composed(*choices)
    check(cfg)
    assert "decay" not in cfg.optim and cfg.optim.lr == 0.005
    typed = OmegaConf.create({"overrides": {"task": [*choices, "optim.decay=3"]}})
    monkeypatch.setattr(HydraConfig, "initialized", lambda: True)
    monkeypatch.setattr(HydraConfig, "get", lambda: typed)
    with pytest.raises(AtdError, match=r"optim\.decay: no such key"):
        check(composed(*choices, "optim.decay=3"))


HEADS = sorted(
    path for group in ("task", "sweep", "cluster", "experiment", "data") for path in (CONF / group).glob("*.yaml")
)


@pytest.mark.parametrize("path", [CONF / "config.yaml", *HEADS], ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_commands_in_comments_and_help_are_right(path):
    """`…` stands for what the reader fills in. A continued line ends with a backslash."""
    text = re.sub(r"\\\n# *", "", path.read_text(encoding="utf-8"))
    for command in re.findall(r"^[# ]+python run\.py(.*?)(?: {2,}\S.*)?$", text, flags=re.M):
        words = [word for word in shlex.split(command) if not word.endswith("…")]
        if not any(word.startswith("resume=") for word in words):
            small_runs.checked(words)


@pytest.mark.parametrize("path", sorted((CONF / "experiment").glob("*.yaml")), ids=lambda p: p.stem)
def test_an_experiment_opens_with_its_command_and_expectations(path):
    head = path.read_text(encoding="utf-8").split("\ndefaults:")[0]
    assert f"experiment={path.stem}" in head, "the command"
    assert "expect" in head.lower() and "min" in head, "expected score and time"
