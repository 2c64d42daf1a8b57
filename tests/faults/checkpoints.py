"""Checkpoints from anywhere: bytes changed, content changed under right checksums, programs in place of values.

Nothing is lost when a file is refused in one line that names it, or is read as what was written.
"""

from __future__ import annotations

import copy
import os
import pickle
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from atd import models
from atd.errors import AtdError
from tests.faults.fault import Effort, Fault
from tests.faults.limits import outcomes, record
from tests.faults.mutations import mutated
from tests.tasks.tiny_model import write_checkpoint

ODD: list[Any] = [None, True, -1, 0, 2**40, 10**30, 1e300, float("nan"), "", "x" * 1000, [], {}, [[]], b"\0", "<unk>"]
PLACES = (("atd", "model"), ("atd", "attributes"), ("atd", "vocabularies"), ("state_dict", "model.b"), ("other", ""))
AGAIN = "python -m tests.faults checkpoints --seed {seed}, case {{case}}"


def faults(effort: Effort) -> Iterator[Fault]:
    with tempfile.TemporaryDirectory() as name:
        good = write_checkpoint(Path(name) / "run") / "checkpoints" / "atd" / "best.ckpt"
        yield changed_bytes(effort, good)
        yield changed_content(effort, good)
        yield programs(good)


def changed_bytes(effort: Effort, good: Path) -> Fault:
    data, path = good.read_bytes(), good.with_name("bytes.ckpt")
    expected = models.load(good).model.state_dict()

    def trial(case: int) -> None:
        path.write_bytes(mutated(data, effort.draw(f"bytes/{case}")))
        found = models.load(path).model.state_dict()
        wrong = [name for name, value in expected.items() if not torch.equal(found[name], value)]
        assert not wrong, f"believed although {wrong[0]} is another"

    fault = Fault("checkpoints", "bytes of a checkpoint changed")
    cases = range(effort.times(10_000, 150))
    return record(fault, outcomes(trial, cases, str(path)), AGAIN.format(seed=effort.seed))


def changed_content(effort: Effort, good: Path) -> Fault:
    """What someone might write who knows the format."""
    content, path = torch.load(good, weights_only=True), good.with_name("content.ckpt")

    def trial(case: int) -> None:
        torch.save(changed(content, effort.draw(f"content/{case}")), path)
        models.load(path)

    fault = Fault("checkpoints", "values in a checkpoint changed, with right checksums")
    cases = range(effort.times(10_000, 150))
    return record(fault, outcomes(trial, cases, str(path)), AGAIN.format(seed=effort.seed))


def changed(content: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    """One to three values replaced by odd ones, or taken away."""
    content = copy.deepcopy(content)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        node: Any = content.get(draw.choice(("atd", "atd", "state_dict"))) if draw.random() < 0.95 else content
        while isinstance(node, dict | list) and node:
            key = draw.choice(list(node) if isinstance(node, dict) else range(len(node)))
            if isinstance(node[key], dict | list) and draw.random() < 0.8:
                node = node[key]
                continue
            if draw.random() < 0.2:
                del node[key]
            else:
                node[key] = odd(node[key], draw)
            break
    return content


def odd(value: Any, draw: random.Random) -> Any:
    """Another value, of a tensor sometimes another tensor."""
    if isinstance(value, torch.Tensor) and draw.random() < 0.7:
        return draw.choice([value[..., :-1], value.double(), value.long(), value.flatten(), value * float("nan")])
    return draw.choice(ODD)


class Program:
    """What a pickle would run."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.mark),)


def programs(good: Path) -> Fault:
    """A pickle that runs something, in every place of the file, and instead of it."""
    fault = Fault("checkpoints", "a program in place of a value")
    content, mark = torch.load(good, weights_only=True), good.with_name("mark")
    for place, key in PLACES:
        path = good.with_name("program.ckpt")
        bad = copy.deepcopy(content)
        bad.setdefault(place, {})[key] = Program(mark)
        torch.save(bad, path)
        fault.tried(ran(path, mark))
        path.write_bytes(pickle.dumps(bad))
        fault.tried(ran(path, mark))
    return fault


def ran(path: Path, mark: Path) -> str | None:
    try:
        models.load(path)
    except AtdError:
        return "the program ran" if mark.exists() else None
    return "the file was accepted"
