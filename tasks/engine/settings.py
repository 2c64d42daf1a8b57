"""The settings of a task as their type, out of a composed configuration."""

from __future__ import annotations

from typing import Any, TypeVar

from omegaconf import DictConfig, OmegaConf

from atd.settings import read

T = TypeVar("T")


def typed(kind: type[T], node: DictConfig, where: str = "task") -> T:
    """`cfg.task` as the task's own `Settings`, plain Python values all the way down."""
    plain: Any = OmegaConf.to_container(node, resolve=True)
    return read(kind, plain, where)
