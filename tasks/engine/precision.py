"""What trainer.precision=auto means on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omegaconf import DictConfig


def precision_of(trainer: DictConfig) -> Any:
    """conf/trainer's precision; of `auto`, products in bf16 where the processor has instructions for them."""
    if trainer.precision != "auto":
        return trainer.precision
    from atd.precision import has_bf16

    return "bf16-mixed" if trainer.accelerator == "gpu" or has_bf16() else "32-true"
