"""A loader's place in its epoch, the way Lightning saves, loads and moves it on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from atd.errors import AtdError


class Position(ABC):
    """What loaders share: `epoch`, `position` (batches yielded) and where the next iteration starts.

    A subclass says in `_identity` what a saved position depends on, such as data, seed and batch size.
    """

    epoch = 0
    position = 0
    _start = 0
    batch_sampler = None  # Lightning asks whether a loader with a sampler has one

    @abstractmethod
    def _identity(self) -> dict[str, Any]: ...

    @property
    def sampler(self) -> Self:
        """Lightning calls `loader.sampler.set_epoch`."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of epoch `epoch`; a position loaded for this same epoch is kept."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.position = 0
            self._start = 0

    def state_dict(self) -> dict[str, Any]:
        return {"epoch": self.epoch, "position": self.position, **self._identity()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go to a saved position; a checkpoint of other data or another order is refused, it would not be exact."""
        for name, value in self._identity().items():
            if state[name] != value:
                raise AtdError(
                    f"cannot resume mid-epoch: the checkpoint was made with {name}={state[name]}, now it is {value}; "
                    "resume with the same data settings, or start anew from its weights"
                )
        self.epoch, self.position = state["epoch"], state["position"]
        self._start = self.position


def interleave(counts: Sequence[int]) -> np.ndarray:
    """The order of the batches of several groups, mixed evenly: rows (group, batch of that group).

    Batch k of a group with m batches is due at (k + ½) / m.
    """
    group = np.repeat(np.arange(len(counts)), counts)
    batch = np.concatenate([np.arange(m) for m in counts])
    due = np.concatenate([(np.arange(m) + 0.5) / max(m, 1) for m in counts])
    return np.stack([group, batch], axis=1)[np.argsort(due, kind="stable")]
