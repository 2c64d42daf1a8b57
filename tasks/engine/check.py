"""Impossible settings and misspelt keys, each explained in one line before any work starts."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from atd.errors import AtdError

Rule = tuple[Callable[[Any], bool], str]


def whole(low: int) -> Rule:
    return lambda v: type(v) is int and v >= low, f"a whole number, {low} or more"


def optional(rule: Rule) -> Rule:
    return lambda v: v is None or rule[0](v), f"{rule[1]}, or null"


def either(first: Rule, second: Rule) -> Rule:
    return lambda v: first[0](v) or second[0](v), f"{first[1]}, or {second[1]}"


def number(low: float, high: float = float("inf"), open_low: bool = False) -> Rule:
    def fits(v: Any) -> bool:
        return type(v) in (int, float) and (v > low if open_low else v >= low) and v <= high

    above = f"above {low:g}" if open_low else f"{low:g} or more"
    return fits, f"a number {above}" + (f", at most {high:g}" if high < float("inf") else "")


def one_of(*choices: Any) -> Rule:
    return lambda v: v in choices, "one of " + ", ".join(map(str, choices))


RULES: dict[str, Rule] = {
    "seed": whole(0),
    "model.K": whole(1),
    "model.F": whole(1),
    "model.D": whole(1),
    "model.context": whole(1),
    "model.activation": one_of("relu", "identity"),
    "model.gate_bias": number(float("-inf")),
    "model.dropout": number(0, 0.99),
    "model.additive": one_of(True, False),
    "model.sparse": one_of(True, False),
    "data.batch_size": whole(1),
    "data.min_count": whole(1),
    "data.max_size": optional(whole(4)),
    "optim.lr": number(0, open_low=True),
    "optim.lr_attributes": number(0, open_low=True),
    "optim.lr_decay": number(0, 1, open_low=True),
    "optim.decay_words": number(0),
    "optim.decay_contexts": number(0),
    "optim.samples": whole(0),
    "optim.p_i": number(0, 0.999),
    "optim.p_f": number(0, 0.999),
    "optim.T": whole(1),
    "trainer.max_epochs": whole(1),
    "trainer.patience": whole(1),
    "trainer.checkpoint_every": whole(1),
    "trainer.accumulate": whole(1),
    "trainer.threads": optional(whole(1)),
    "trainer.devices": either(whole(1), one_of("auto")),
    "trainer.num_nodes": whole(1),
    "trainer.strategy": one_of("auto", "ddp", "fsdp"),
    "task.words": whole(1),
    "task.temperature": number(0),
    "task.top_k": optional(whole(1)),
    "task.top_p": optional(number(0, 1, open_low=True)),
    "task.samples": whole(1),
    "task.matrix_words": whole(100),
    "task.k": whole(1),
    "task.shown": whole(1),
    "task.port": whole(0),
    "task.newest": whole(1),
    "task.method": one_of("tsne", "mds", "pca"),
    "task.seeds": whole(1),
    "task.members": whole(1),
    "task.workers": whole(1),
    "task.folds": whole(2),
    "task.min_df": whole(1),
    "task.dense": number(0, open_low=True),
    "task.weights": one_of("log", "probability"),
    "task.crossfit": whole(1),
    "task.texts": whole(1),
    "task.text_words": whole(1),
    "task.leave_out": whole(1),
    "task.variant_posts": optional(whole(1)),
    "task.mixture_words": optional(whole(1)),
    "task.objective.loss": one_of("hinge", "hardest", "softmax"),
    "task.objective.alpha": number(0, open_low=True),
    "task.objective.contrastive": whole(1),
    "task.objective.temperature": number(0, open_low=True),
    "task.documents": whole(1),
    "task.weighting": one_of("sum", "idf"),
    "model.sharing": one_of("shared", "separate"),
    "model.buckets": whole(1),
    "data.holdout": either(number(0, 0.49, open_low=True), whole(1)),  # a share, or lines of a parallel corpus
    "data.dropout": number(0, 0.99),
    "optim.lr_factors": number(0, open_low=True),
    "optim.weight_decay": number(0),
    "data.posts": optional(whole(1)),
    "data.holdout_posts": whole(1),
    "data.leave_out": whole(0),
    "model.components": whole(1),
    "task.format": one_of("arrow", "csv"),
    "data.sentences": either(one_of(True, False), optional(whole(8))),  # books: cut at sentences; treebank: how many
    "inference.l2": number(0, open_low=True),
    "inference.samples": optional(whole(2)),
    "inference.tolerance": number(0, open_low=True),
    "inference.iterations": whole(1),
    "inference.lr": number(0, open_low=True),
    "inference.epochs": whole(1),
    "sweep.trials": whole(1),
    "sweep.parallel": whole(1),
    "sweep.startup": whole(1),
    "sweep.seed": whole(0),
    "sweep.grace": whole(1),
    "sweep.warmup": whole(0),
    "sweep.direction": one_of("minimize", "maximize"),
    "benchmark.quick": one_of(True, False),
    "benchmark.rounds": whole(1),
    "logger.mode": optional(one_of("online", "offline", "disabled")),
}


def check(cfg: DictConfig) -> None:
    """Every rule whose key the composed configuration has; then what spans several keys."""
    for key, (fits, allowed) in RULES.items():
        value = OmegaConf.select(cfg, key, default=check)
        if value is not check and not fits(value):
            raise AtdError(f"{key}={value}: must be {allowed}")
    if cfg.trainer.accelerator == "cpu" and "16" in str(cfg.trainer.precision):
        from atd.precision import bf16_pays

        if cfg.trainer.precision != "bf16-mixed" or not bf16_pays():
            raise AtdError(f"trainer.precision={cfg.trainer.precision}: emulated and very slow here; use 32-true")
    if cfg.trainer.accelerator == "cpu" and cfg.trainer.devices == "auto":
        raise AtdError("trainer.devices=auto: only GPUs can be counted; on CPUs give the number of processes")
    if cfg.trainer.strategy == "fsdp" and cfg.optim.name not in ("adam", "sgd"):
        raise AtdError(f"trainer=fsdp: optim={cfg.optim.name} cannot update shards; use adam or sgd, or trainer=ddp")
    if OmegaConf.select(cfg, "model.sparse") and cfg.optim.name != "adagrad":
        raise AtdError("model.sparse=true: needs optim=adagrad, which updates only the rows a step touches")


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
