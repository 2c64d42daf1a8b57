"""Checkpoint files: written whole, and believed only when every byte is the one that was written.

A checkpoint is PyTorch's zip of plain values and tensors. The zip holds a checksum of every record, which PyTorch
writes and does not look at; here they are compared before anything is read.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from atd.errors import AtdError, reason_of
from atd.files import whole


def write(content: Any, path: Path) -> None:
    """The old file, if any, stays until the new one is on the disk."""
    with whole(path) as part:
        try:
            torch.save(content, part)
        except RuntimeError as error:  # how PyTorch's writer tells that the disk is full
            raise OSError(str(error).splitlines()[0]) from None


def read(path: str | Path) -> Any:
    """The content. Anything but an undamaged file of plain values and tensors is refused."""
    try:
        with zipfile.ZipFile(path) as records:
            damaged = records.testzip()
        if damaged is not None:
            raise ValueError(f"{damaged!r} has another checksum")
        return torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise AtdError(f"{path}: cannot be read ({error.strerror or error})") from None
    except Exception as error:  # a damaged zip is refused in a dozen ways
        fix = "use another copy, or train again"
        raise AtdError(f"{path}: the checkpoint is damaged ({reason_of(error)}); {fix}") from None


def weights_of(content: Mapping[str, Any]) -> dict[str, Tensor]:
    """The weights of the model itself, which all must be numbers."""
    weights = {k.removeprefix("model."): v for k, v in content["state_dict"].items() if k.startswith("model.")}
    for name, values in weights.items():
        if values.is_floating_point() and not values.isfinite().all():
            raise ValueError(f"{name} holds values that are no numbers")
    return weights


class Undrawn(TorchFunctionMode):
    """Random numbers are not drawn: a tensor without memory has no place for them, and PyTorch takes seconds to see."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function.__name__ in ("normal_", "uniform_", "orthogonal_"):
            return args[0] if args else kwargs["tensor"]
        return function(*args, **(kwargs or {}))


def rebuilt(build: Callable[[], nn.Module], weights: Mapping[str, Tensor]) -> nn.Module:
    """The model with these weights. It takes no memory before the shapes are known to be right."""
    with torch.device("meta"), Undrawn():
        shapes = {name: tuple(values.shape) for name, values in build().state_dict().items()}
    for name in shapes.keys() | weights.keys():
        found = tuple(weights[name].shape) if name in weights else None
        if found != shapes.get(name):
            raise ValueError(f"{name} has shape {found} where the settings say {shapes.get(name)}")
    model = build()
    model.load_state_dict(weights)
    return model.eval()


def check_unique(names: list[str], what: str) -> None:
    if len(set(names)) < len(names):
        raise ValueError(f"two {what} have the same name")
