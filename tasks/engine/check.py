"""Impossible settings and misspelt keys, each explained in one line before any work starts.

The rules of one value are on its type: `groups.py`, the `Settings` of a task, the parameters of a DataModule. Here is
what spans several groups: which data, model and optimiser a task can work with, and what a machine can do.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import MissingMandatoryValue

from atd.errors import AtdError
from atd.settings import check_call, read, whole
from tasks.engine.groups import GROUPS, Sweep, Trainer

CONF = Path(__file__).parent.parent.parent / "conf"
LANGUAGE_MODELS = ("adam", "sgd", "adagrad")  # the optimisers of language models
TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".arrow", ".feather")
PACKED = (".gz", ".zst")
OWN_TABLE = "your own table is data=table data.path={path} data.text=text data.attributes=[age,gender]"
SPECIAL = ("_target_", "_partial_", "_args_", "_recursive_", "_convert_")  # what Hydra makes objects by
OF_A_TABLE = ("text", "attributes", "formula", "compose", "continuous", "bins", "group", "weights", "drop_empty")


@dataclass(frozen=True)
class Fits:
    """What a task can work with; nothing named = it does not look at that group."""

    data: tuple[str, ...] = ()  # names of DataModules
    models: tuple[str, ...] = ()
    optims: tuple[str, ...] = ()


def check(cfg: DictConfig) -> None:
    """One clear line for the first thing that cannot be; nothing is started before."""
    if not whole(0).fits(cfg.seed):
        raise AtdError(f"seed={cfg.seed}: must be {whole(0).says}")
    check_names(cfg)
    task = importlib.import_module(f"tasks.{cfg.task.name}")
    check_joining(cfg)
    check_fit(cfg, task.FITS)
    leave_out(cfg)
    check_values(cfg, task)
    check_machine(cfg)


def check_names(cfg: DictConfig) -> None:
    """The task and the DataModule are ours, and nothing else is to be made from a name.

    A resumed run brings its configuration along, and its folder may be someone else's.
    """
    if cfg.task.name not in (tasks := sorted(path.stem for path in (CONF / "task").glob("*.yaml"))):
        raise AtdError(f"task.name={cfg.task.name}: no such task; choose task={_or(tasks)}")
    content = OmegaConf.to_container(OmegaConf.masked_copy(cfg, [str(key) for key in cfg if key != "hydra"]))
    made = dict(_named_objects(content, ""))
    target = made.pop("data._target_", None)
    if target not in _targets().values():
        raise AtdError(f"data._target_={target}: not a corpus of conf/data, so it is not opened")
    if made:
        key, value = next(iter(made.items()))
        raise AtdError(f"{key}={value}: a configuration may name no object but data._target_")


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


def check_fit(cfg: DictConfig, fits: Fits) -> None:
    """Task, data, model and optimiser that have nothing to do with each other."""
    for group in ("model", "optim"):
        if cfg[group].name not in GROUPS[group]:
            raise AtdError(f"{group}.name={cfg[group].name}: no such {group}; choose {group}={_or(GROUPS[group])}")
    if fits.data and _class(cfg.data._target_) not in fits.data:
        choices = [choice for choice, target in _targets().items() if _class(target) in fits.data]
        raise _misfit(cfg, "data", choices)
    if fits.models and cfg.model.name not in fits.models:
        raise _misfit(cfg, "model", fits.models)
    if fits.optims and cfg.optim.name not in fits.optims:
        raise _misfit(cfg, "optim", fits.optims)
    path = str(OmegaConf.select(cfg, "data.path", throw_on_missing=False) or "")
    if OmegaConf.select(cfg, "data.sample") and path != str(cfg.paths.data):
        reads = "writes its own text and reads no file"
        raise AtdError(f"data.path={path}: data={cfg.data.name} {reads}; {own_table(path)}")
    if is_table(path) and cfg.data.name not in ("table", "parallel"):
        raise AtdError(f"data.path={path}: data={cfg.data.name} reads no table; {own_table(path)}")


def check_joining(cfg: DictConfig) -> None:
    """`init_from` is for the rows of a table or a folder."""
    if not isinstance(cfg.freeze, bool):
        raise AtdError(f"freeze={cfg.freeze}: must be true or false")
    if cfg.init_from and "init_from" not in cfg.data:
        raise AtdError(f"init_from: data={cfg.data.name} cannot join a trained model; use data=table or data=folder")
    if cfg.init_from and cfg.trainer.strategy == "fsdp":
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


def leave_out(cfg: DictConfig) -> None:
    """Take out what a task's file sets for another choice of a group: task=languages sets optim.decay, SGD has none.

    What was typed stays, and is refused like any key that is not there.
    """
    from hydra.core.hydra_config import HydraConfig

    given = HydraConfig.get().overrides.task if HydraConfig.initialized() else []
    for group, kinds in GROUPS.items():
        if cfg[group].name not in kinds:
            continue
        own = {f.name for f in fields(kinds[cfg[group].name])}
        known = {f.name for kind in kinds.values() for f in fields(kind)}
        for key in (known - own) & set(cfg[group]):
            if not any(word.startswith(f"{group}.{key}=") for word in given):
                with open_dict(cfg):
                    del cfg[group][key]


def check_values(cfg: DictConfig, task: ModuleType) -> None:
    """Every key is known, every value as its type says."""
    from hydra.utils import get_class

    ours = OmegaConf.masked_copy(cfg, [str(key) for key in cfg if key != "hydra"])
    try:
        plain: Any = OmegaConf.to_container(ours, resolve=True, throw_on_missing=True)
    except MissingMandatoryValue as error:
        fix = own_table() if cfg.data.name == "table" else f"give {error.full_key}=…"
        raise AtdError(f"{error.full_key}: has no default; {fix}") from None
    for group, kinds in GROUPS.items():
        if plain[group]["name"] not in kinds:
            raise AtdError(f"{group}.name={plain[group]['name']}: no such {group}; choose {group}={_or(kinds)}")
        read(kinds[plain[group]["name"]], plain[group], group)
    read(Trainer, plain["trainer"], "trainer")
    if plain.get("sweep") is not None:
        read(Sweep, plain["sweep"], "sweep")
    read(task.Settings, plain["task"], "task")
    for group, kind in getattr(task, "GROUPS", {}).items():
        read(kind, plain[group], group)
    data = dict(plain["data"])
    check_call(get_class(data.pop("_target_")), data, "data")


def check_machine(cfg: DictConfig) -> None:
    """What the processors and the optimiser cannot do together."""
    if cfg.trainer.accelerator == "cpu" and "16" in str(cfg.trainer.precision):
        from atd.precision import bf16_pays

        if cfg.trainer.precision != "bf16-mixed" or not bf16_pays():
            raise AtdError(f"trainer.precision={cfg.trainer.precision}: emulated and very slow here; use 32-true")
    if cfg.trainer.accelerator == "cpu" and cfg.trainer.devices == "auto":
        raise AtdError("trainer.devices=auto: only GPUs can be counted; on CPUs give the number of processes")
    if cfg.trainer.strategy == "fsdp" and cfg.optim.name not in ("adam", "sgd"):
        raise AtdError(f"trainer=fsdp: optim={cfg.optim.name} cannot update shards; use adam or sgd, or trainer=ddp")
    if OmegaConf.select(cfg, "model.sparse") and cfg.optim.name not in ("adagrad", "sgd"):
        raise AtdError("model.sparse=true: needs optim=adagrad or sgd, which update only the rows a step touches")


def _misfit(cfg: DictConfig, group: str, choices: Any) -> AtdError:
    wrong = f"task={cfg.task.name}: does not work with {group}={cfg[group].name}"
    return AtdError(f"{wrong}; choose {group}={_or(choices)}")


def _or(names: Any) -> str:
    *others, last = list(names)
    return f"{', '.join(others)} or {last}" if others else last


def _class(target: str) -> str:
    return target.rpartition(".")[2]


def _targets() -> dict[str, str]:
    """The DataModule of every file of conf/data; a sample has that of what it stands for."""
    out = {}
    for path in sorted((CONF / "data").glob("*.yaml")):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        if "_target_" not in content:
            content |= yaml.safe_load((CONF / "data" / f"{content['defaults'][0]}.yaml").read_text(encoding="utf-8"))
        out[path.stem] = content["_target_"]
    return out


def explain(error: Exception, config_dir: Path) -> str | None:
    """One line for what Hydra refuses: a key, a choice or a line it cannot parse. None = not such an error."""
    from hydra.errors import HydraException, MissingConfigException, OverrideParseException
    from omegaconf.errors import OmegaConfBaseException

    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        group, _, choice = str(error.missing_cfg_file).rpartition("/")
        if choice.startswith("submitit_"):
            return "cluster=…: needs submitit; pip install -e '.[cluster]'"
        choices = sorted(p.stem for p in (config_dir / group).glob("*.yaml"))
        return f"{group}={choice}: no such choice; {group} is one of {', '.join(choices)}"
    cause = error.__cause__ if isinstance(error.__cause__, OmegaConfBaseException) else error
    if isinstance(cause, OmegaConfBaseException):
        key = cause.full_key or ""
        parent = cause.parent_node
        keys = [str(k) for k in parent] if isinstance(parent, DictConfig) else []
        if keys and key.rpartition(".")[2] not in keys:
            if key.startswith("data.") and key.rpartition(".")[2] in OF_A_TABLE:
                return f"{key}: belongs to data=table; add data=table data.path=reviews.csv"
            return unknown_key(key, keys)
        return f"{key}: {first_line(cause)}" if key else first_line(cause)
    if isinstance(error, OverrideParseException):
        return f"{error.override}: cannot be read as key=value; quote values that hold spaces, brackets or commas"
    if isinstance(error, HydraException):
        text = " ".join(str(error).split())
        return text.removesuffix("Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.")
    return None


def unknown_key(key: str, keys: list[str]) -> str:
    near = difflib.get_close_matches(key.rpartition(".")[2], keys, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    place = key.rpartition(".")[0] or "the top level"
    return f"{key}: no such key{hint}; {place} has {', '.join(k for k in keys if k != 'hydra')}"


def first_line(error: Exception) -> str:
    return str(error).splitlines()[0]
