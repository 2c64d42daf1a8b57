"""What people type: settings that no run can have. Each is accepted by the check or refused in one line.

The overrides are Hydra's own, up to the check that stands before any work; so is the config.yaml of a run folder that
`resume=` reads. A base of every task is composed once and overrides are put on a copy of it, which takes a hundredth of
the time; changes of groups are composed anew, and some commands are run for real.
"""

from __future__ import annotations

import copy
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import yaml
from hydra import compose, initialize_config_dir
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf

from atd.errors import AtdError
from tasks.engine import job
from tasks.engine.explanation import explain
from tasks.engine.overrides import resume_arguments
from tests.faults.fault import Effort, Fault

ROOT = Path(__file__).parent.parent.parent
CONF = ROOT / "conf"
GROUPS = sorted(path.name for path in CONF.iterdir() if path.is_dir() and path.name != "hydra")
TASKS = sorted(path.stem for path in (CONF / "task").glob("*.yaml"))
QUICK_TASKS = ("attributes", "similarity")
VALUES, BOGUS, COMMANDS = (
    (ROOT / f"tests/faults/typed/{name}.txt").read_text(encoding="utf-8").splitlines()
    for name in ("values", "keys", "commands")
)
VALUES += ["", " ", "\u202e", "\ud800", "'a\nb'", "a\nb", "\t", "\0", "a" * 10_000, "9" * 30, "-" + "9" * 30]
VALUES += ["9" * 5000, "[" * 30, "[" * 30 + "]" * 30]
PREFIXES = ["", "", "", "", "", "+", "++", "~"]


class Accepted(Exception):
    """The check let it through."""


def faults(effort: Effort) -> Iterator[Fault]:
    with (
        tempfile.TemporaryDirectory(prefix="atd-settings-") as scratch,
        initialize_config_dir(str(CONF), version_base="1.3"),
    ):
        out = Path(scratch)
        yield overridden(effort, out)
        yield chosen(effort, out)
        yield resumed(effort, out)
    yield commanded(effort)


def overridden(effort: Effort, out: Path) -> Fault:
    """Values and keys, one to three at a time, on a copy of a composed base."""
    fault = Fault("settings", "a value on the command line")
    draw = effort.draw("values")
    for n in range(effort.times(8000, 250)):
        task = draw.choice(QUICK_TASKS if effort.quick else TASKS)
        words = [override(draw, keys(task)) for _ in range(1 if n % 3 else draw.choice([2, 3]))]
        fault.tried(
            loss([f"task={task}", *words], lambda task=task, words=words: begun(put_on(base(task), words), out))
        )
    return fault


def chosen(effort: Effort, out: Path) -> Fault:
    """Choices of groups, composed by Hydra from the start."""
    fault = Fault("settings", "a choice of a group on the command line")
    draw = effort.draw("groups")
    for _ in range(effort.times(120, 6)):
        words = [choice(draw) for _ in range(draw.choice([1, 1, 2]))]
        fault.tried(loss(words, lambda words=words: begun(compose("config", arguments(words)), out)))
    return fault


def resumed(effort: Effort, out: Path) -> Fault:
    """The config.yaml of a run folder, damaged or by someone else."""
    fault = Fault("settings", "the config.yaml of a run that is resumed")
    draw = effort.draw("resumed")
    for _ in range(effort.times(1900, 60)):
        task = draw.choice(QUICK_TASKS if effort.quick else TASKS)
        how, text = damaged(draw, task)
        (out / "config.yaml").write_bytes(text)
        cfg = put_on(base("attributes"), [f"resume={out}"])
        fault.tried(loss([f"resume of task={task}", how], lambda cfg=cfg: begun(cfg, out)))
    return fault


def commanded(effort: Effort) -> Fault:
    """The program as a person starts it. Those that Hydra refuses take a third of a second, the others some."""
    fault = Fault("settings", "a command, as a process")
    for words in map(str.split, COMMANDS[: effort.times(len(COMMANDS), 1)]):
        with tempfile.TemporaryDirectory() as scratch:
            command = [sys.executable, str(ROOT / "run.py"), *words, f"paths.outputs={scratch}"]
            done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, timeout=300)
        lines = done.stderr.strip().splitlines()
        well = done.returncode == 2 and len(lines) == 1 and lines[0].startswith("error: ")
        fault.tried(None if well else f"{words}: exit {done.returncode}, {lines[-1:]}")
    return fault


def loss(words: Sequence[str], act: Callable[[], None]) -> str | None:
    """What went wrong, if it was neither accepted nor refused in one line."""
    try:
        act()
    except Accepted:
        return None
    except AtdError as error:
        line: str | None = str(error)
    except Exception as error:
        line = explain(error, CONF, words)
        if line is None:
            return f"{shown(words)}: {type(error).__name__}: {str(error)[:200]!r}"
    else:
        return f"{shown(words)}: the check was not reached"
    if not line or line.splitlines() != [line]:
        return f"{shown(words)}: refused in {len(line or '')} characters, not in a line: {(line or '')[:200]!r}"
    return None


def begun(cfg: DictConfig, out: Path) -> None:
    """A job until after its check, as `run` begins it."""
    with mock.patch.object(job, "resolve_vectors", side_effect=Accepted):
        job.run(cfg, out)


def arguments(words: Sequence[str]) -> list[str]:
    return resume_arguments(list(words))


@cache
def base(task: str) -> DictConfig:
    return compose("config", [f"task={task}"])


@cache
def keys(task: str) -> list[str]:
    """Every key of a task's configuration, groups included, and some that are none."""
    return [*(".".join(map(str, path)) for path in paths(OmegaConf.to_container(base(task)))), *BOGUS]


def paths(content: Any) -> Iterator[tuple]:
    for key, value in content.items():
        yield (key,)
        if isinstance(value, dict):
            yield from ((key, *path) for path in paths(value))


def put_on(cfg: DictConfig, words: Sequence[str]) -> DictConfig:
    """A copy with the overrides that Hydra makes of words."""
    cfg = copy.deepcopy(cfg)
    parsed = [one for one in OverridesParser.create().parse_overrides(arguments(words)) if not one.is_hydra_override()]
    ConfigLoaderImpl._apply_overrides_to_config(parsed, cfg)
    return cfg


def override(draw: random.Random, known: Sequence[str]) -> str:
    key = draw.choice(known)
    if draw.random() < 0.05:
        key = mutated(draw, key)
    prefix = draw.choice(PREFIXES)
    value = f"${{{key}}}" if draw.random() < 0.02 else draw.choice(VALUES)
    return f"~{key}" if prefix == "~" and draw.random() < 0.7 else f"{prefix}{key}={value}"


def choice(draw: random.Random) -> str:
    group = draw.choice(GROUPS)
    there = [path.stem for path in (CONF / group).glob("*.yaml")]
    value = draw.choice(there if draw.random() < 0.5 else VALUES)
    return f"{draw.choice(PREFIXES)}{group}{draw.choice(['', '', '', '@x', '@_global_', '@model'])}={value}"


def mutated(draw: random.Random, key: str) -> str:
    at = draw.randrange(len(key) + 1)
    return (
        key[:at]
        + draw.choice(["x", ".", "..", "@", "/", "=", " ", "é", "[0]", "$", ""])
        + key[at + draw.randrange(2) :]
    )


def damaged(draw: random.Random, task: str) -> tuple[str, bytes]:
    """(what was done, the bytes of a config.yaml it was done to)."""
    content: Any = OmegaConf.to_container(base(task))
    if draw.random() < 0.25:
        text = yaml.safe_dump(content).encode()
        at = draw.randrange(len(text))
        junk = bytes(draw.randrange(256) for _ in range(draw.choice([0, 1, 8])))
        return f"cut at {at}, then {junk!r}", text[:at] + junk + (text[at + 1 :] if draw.random() < 0.5 else b"")
    done = []
    for _ in range(draw.choice([1, 1, 2])):
        *groups, last = draw.choice(list(paths(content)))
        node = content
        for group in groups:
            node = node[group]
        value = draw.choice(SAVED)
        if draw.random() < 0.3:
            done.append(f"without {[*groups, last]}")
            node.pop(last)
        elif draw.random() < 0.2:
            added = draw.choice(["added", 1, None, "_target_", "a.b", ""])
            done.append(f"{[*groups, added]}: {value!r}")
            node[added] = value
        else:
            done.append(f"{[*groups, last]}: {value!r}")
            node[last] = value
    return ", ".join(done), yaml.safe_dump(content).encode()


SAVED: list[Any] = [None, "", 0, -1, 1.5, True, "abc", [], [1], {}, {"a": 1}, {"name": "atd"}, {"name": ["a"]}, {1: 2}]
SAVED += [float("nan"), float("inf"), 1e-40, 10**30, "${seed}", "${nowhere}", "${", "${oc.env:NOT_THERE}", "???"]
SAVED += ["os.system", "joblib.load", {"_target_": "os.system", "command": "true"}, [{"_target_": "os.getcwd"}], "a\nb"]
SAVED += ["x" * 10_000, {"": ""}, [[[]]]]


def shown(words: Sequence[str]) -> str:
    return " ".join(word if len(word) < 100 else f"{word[:60]}…({len(word)} characters)" for word in map(repr, words))
