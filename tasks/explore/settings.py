"""What conf/task/explore.yaml holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from atd.settings import number, optional, whole
from tasks.engine.check import Fits

FITS = Fits()


@dataclass(frozen=True)
class Settings:
    name: str
    port: Annotated[int, whole(0, 65535)]  # 0 = any free port
    newest: Annotated[int, whole(1)]  # runs offered when no checkpoint is given
    seconds: Annotated[float | None, optional(number(0, open_low=True))]  # stop by itself after so long
