"""Impossible settings and misspelt keys, each explained in one line before any work starts.

The rules of one value are on its type: `groups.py`, the `Settings` of a task, the parameters of a DataModule. Here is
what spans several groups: which data, model and optimiser a task can work with, and what a machine can do.
"""

from __future__ import annotations

import functools
import importlib
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from atd.errors import AtdError, one_line
from atd.settings import check_call, read
from atd.settings import check_values as check_settings
from tasks.engine.explanation import choices, refused
from tasks.engine.groups import GROUPS, Job, Paths, Sweep, Trainer

CONF = Path(__file__).parent.parent.parent / "conf"
LANGUAGE_MODELS = ("adam", "sgd", "adagrad")  # the optimisers of language models
TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".arrow", ".feather")
PACKED = (".gz", ".zst")
OWN_TABLE = "your own table is data=table data.path={path} data.text=text data.attributes=[age,gender]"
SPECIAL = ("_target_", "_partial_", "_args_", "_recursive_", "_convert_")  # what Hydra makes objects by


@dataclass(frozen=True)
class Fits:
    """What a task can work with; nothing named = it does not look at that group."""

    data: tuple[str, ...] = ()  # names of DataModules
    models: tuple[str, ...] = ()
    optims: tuple[str, ...] = ()


def check(cfg: DictConfig) -> None:
    """One clear line for the first thing that cannot be; nothing is started before."""
    written = content_of(cfg, resolve=False)  # a choice that does not fit lacks what others point to
    check_groups(written)
    check_names(written)
    task = importlib.import_module(f"tasks.{written['task']['name']}")
    check_fit(written, task.FITS)
    content = content_of(cfg)
    check_groups(content)
    check_names(content)
    check_top(content, getattr(task, "GROUPS", {}))
    check_joining(content)
    check_path(content)
    leave_out(cfg, content)
    check_values(content, task)
    check_machine(content)


def content_of(cfg: DictConfig, resolve: bool = True) -> dict[str, Any]:
    """The configuration as plain values. What has yet to be given is still `???`."""
    try:
        ours = OmegaConf.masked_copy(cfg, [typing.cast(str, key) for key in cfg if key != "hydra"])
        content: Any = OmegaConf.to_container(ours, resolve=resolve)
    except OmegaConfBaseException as error:
        raise AtdError(refused(error)) from None
    return content


def check_groups(content: Mapping[str, Any]) -> None:
    """Every group is the content of one of its files, so that the checks below may look into it."""
    for group in (f.name for f in fields(Job) if f.type == "dict[str, Any]"):
        chosen = content.get(group)
        named = group in ("trainer", "data") or (isinstance(chosen, dict) and isinstance(chosen.get("name"), str))
        if not isinstance(chosen, dict) or not named:
            given = "nothing" if chosen is None else one_line(chosen)
            raise AtdError(f"{group}: {given} is no choice; choose {group}={_or(choices(CONF, group))}")


def check_top(content: Mapping[str, Any], of_task: Mapping[str, Any]) -> None:
    """The keys outside of groups. A task may bring some of its own."""
    known = typing.get_type_hints(Job, include_extras=True) | dict(of_task)
    found = {key: value for key, value in content.items() if key != "sweep"}
    check_settings(known, found, "", needed=known)
    read(Paths, content["paths"], "paths")


def check_names(content: Mapping[str, Any]) -> None:
    """The task and the DataModule are ours, and nothing else is to be made from a name.

    A resumed run brings its configuration along, and its folder may be someone else's.
    """
    name, tasks = content["task"]["name"], choices(CONF, "task")
    if name not in tasks:
        raise AtdError(f"task.name={one_line(name)}: no such task; choose task={_or(tasks)}")
    made = dict(_named_objects(content, ""))
    target = made.pop("data._target_", None)
    if target not in _targets().values():
        raise AtdError(f"data._target_={one_line(target)}: not a corpus of conf/data, so it is not opened")
    if made:
        key, value = next(iter(made.items()))
        raise AtdError(f"{one_line(key)}={one_line(value)}: a configuration may name no object but data._target_")


def _named_objects(content: Any, place: str) -> Iterator[tuple[str, Any]]:
    """(key, value) of all that Hydra would make something from."""
    if isinstance(content, list):
        content = dict(enumerate(content))
    if isinstance(content, dict):
        for key, value in content.items():
            name = f"{place}.{key}" if place else str(key)
            if key in SPECIAL:
                yield name, value
            yield from _named_objects(value, name)


def check_fit(content: Mapping[str, Any], fits: Fits) -> None:
    """Task, data, model and optimiser that have nothing to do with each other."""
    for group, kinds in GROUPS.items():
        if (name := content[group]["name"]) not in kinds:
            raise AtdError(f"{group}.name={one_line(name)}: no such {group}; choose {group}={_or(kinds)}")
    if fits.data and _class(content["data"]["_target_"]) not in fits.data:
        fitting = [choice for choice, target in _targets().items() if _class(target) in fits.data]
        raise _misfit(content, "data", fitting)
    if fits.models and content["model"]["name"] not in fits.models:
        raise _misfit(content, "model", fits.models)
    if fits.optims and content["optim"]["name"] not in fits.optims:
        raise _misfit(content, "optim", fits.optims)


def check_path(content: Mapping[str, Any]) -> None:
    """A path that the chosen corpus would not read."""
    data = content["data"]
    path, name = one_line(data.get("path") or ""), one_line(data.get("name"))
    if data.get("sample") is True and path != one_line(content["paths"]["data"]):
        raise AtdError(f"data.path={path}: data={name} writes its own text and reads no file; {own_table(path)}")
    if is_table(path) and name not in ("table", "parallel", "authors"):
        raise AtdError(f"data.path={path}: data={name} reads no table; {own_table(path)}")
    if data.get("unknown") is not None and content["task"]["name"] != "authors":
        raise AtdError(f"data.unknown={one_line(data['unknown'])}: only task=authors says who wrote them")


def check_joining(content: Mapping[str, Any]) -> None:
    """`init_from` is for the rows of a table or a folder."""
    if not content["init_from"]:
        return
    if "init_from" not in content["data"]:
        name = one_line(content["data"].get("name"))
        raise AtdError(f"init_from: data={name} cannot join a trained model; use data=table or data=folder")
    if content["trainer"].get("strategy") == "fsdp":
        raise AtdError("init_from: trainer=fsdp would cut the vectors that are kept into pieces; use trainer=ddp")


def is_table(path: str) -> bool:
    """By its ending; a pattern such as posts-*.csv too."""
    for packed in PACKED:
        path = path.removesuffix(packed)
    return path.endswith(TABLES)


def own_table(path: str = "") -> str:
    """How texts of one's own are named."""
    folder = f", a folder of texts data=folder data.path={path}" if path and not is_table(path) else ""
    return OWN_TABLE.format(path=path if is_table(path) else "reviews.csv") + folder


def leave_out(cfg: DictConfig, content: dict[str, Any]) -> None:
    """Take out what a task's file sets for another choice of a group: task=languages sets optim.decay, SGD has none.

    What was typed stays, and is refused like any key that is not there.
    """
    from hydra.core.hydra_config import HydraConfig

    given = HydraConfig.get().overrides.task if HydraConfig.initialized() else []
    for group, kinds in GROUPS.items():
        own = {f.name for f in fields(kinds[content[group]["name"]])}
        known = {f.name for kind in kinds.values() for f in fields(kind)}
        for key in (known - own) & set(content[group]):
            if not any(word.startswith(f"{group}.{key}=") for word in given):
                del content[group][key]
                with open_dict(cfg):
                    del cfg[group][key]


def check_values(content: Mapping[str, Any], task: ModuleType) -> None:
    """Every key is known, every value is given and as its type says."""
    from hydra.utils import get_class

    if missing := next(_not_given(content, ""), None):
        fix = own_table() if content["data"].get("name") == "table" else f"give {missing}=…"
        raise AtdError(f"{missing}: has no default; {fix}")
    for group, kinds in GROUPS.items():
        read(kinds[content[group]["name"]], content[group], group)
    read(Trainer, content["trainer"], "trainer")
    if content.get("sweep") is not None:
        check_settings({"sweep": Sweep}, {"sweep": content["sweep"]}, "", needed=())
        read(Sweep, content["sweep"], "sweep")
    read(task.Settings, content["task"], "task")
    for group, kind in getattr(task, "GROUPS", {}).items():
        if is_dataclass(kind):
            read(typing.cast(type, kind), content[group], group)
    data = dict(content["data"])
    check_call(get_class(data.pop("_target_")), data, "data")


def _not_given(content: Any, place: str) -> Iterator[str]:
    for key, value in content.items():
        name = f"{place}.{key}" if place else str(key)
        if value == "???":
            yield name
        elif isinstance(value, dict):
            yield from _not_given(value, name)


def check_machine(content: Mapping[str, Any]) -> None:
    """What the groups, the processors among them, cannot do together."""
    trainer, optim = content["trainer"], content["optim"]["name"]
    if trainer["accelerator"] == "cpu" and "16" in trainer["precision"]:
        from atd.precision import bf16_pays, has_bf16

        if trainer["precision"] != "bf16-mixed" or not (has_bf16() or bf16_pays()):
            raise AtdError(f"trainer.precision={trainer['precision']}: emulated and very slow here; use 32-true")
    if trainer["accelerator"] == "cpu" and trainer["devices"] == "auto":
        raise AtdError("trainer.devices=auto: only GPUs can be counted; on CPUs give the number of processes")
    reach = content["model"].get("context")
    if reach is not None and content["data"].get("context", reach) != reach:
        raise AtdError(f"data.context={content['data']['context']}: must be that of the model; set model.context")
    if trainer["strategy"] == "fsdp" and optim not in ("adam", "sgd"):
        raise AtdError(f"trainer=fsdp: optim={optim} cannot update shards; use adam or sgd, or trainer=ddp")
    if content["model"].get("sparse") and optim not in ("adagrad", "sgd"):
        raise AtdError("model.sparse=true: needs optim=adagrad or sgd, which update only the rows a step touches")


def _misfit(content: Mapping[str, Any], group: str, fitting: Iterable[str]) -> AtdError:
    wrong = f"task={content['task']['name']}: does not work with {group}={one_line(content[group].get('name'))}"
    return AtdError(f"{wrong}; choose {group}={_or(fitting)}")


def _or(names: Any) -> str:
    *others, last = list(names)
    return f"{', '.join(others)} or {last}" if others else last


def _class(target: str) -> str:
    return target.rpartition(".")[2]


@functools.cache
def _targets() -> dict[str, str]:
    """The DataModule of every file of conf/data; a sample has that of what it stands for."""
    out = {}
    for path in sorted((CONF / "data").glob("*.yaml")):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        if "_target_" not in content:
            content |= yaml.safe_load((CONF / "data" / f"{content['defaults'][0]}.yaml").read_text(encoding="utf-8"))
        out[path.stem] = content["_target_"]
    return out
