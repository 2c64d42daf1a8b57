"""Names with vectors, and columns that say more about each.

n names, K numbers of a vector.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from atd.errors import AtdError


@dataclass(frozen=True)
class Vectors:
    """Names, their vectors (n×K, float32), and columns of n values."""

    names: Sequence[str]
    x_nK: np.ndarray
    columns: Mapping[str, Sequence[Any] | np.ndarray] = field(default_factory=dict)

    def rows(self) -> Iterator[tuple[str, Sequence[Any], list[float]]]:
        """(name, its values in the columns, its vector)."""
        columns = [np.asarray(column).tolist() for column in self.columns.values()]
        others = list(zip(*columns, strict=True)) if columns else [()] * len(self.names)
        yield from zip(self.names, others, self.x_nK.tolist(), strict=True)


def checked(path: Path, vectors: Vectors) -> Vectors:
    """The same, if every name has a vector."""
    if vectors.x_nK.ndim != 2 or len(vectors.names) != len(vectors.x_nK):
        raise AtdError(f"{path}: holds {len(vectors.names)} names and {len(vectors.x_nK)} vectors; write it anew")
    return vectors
