"""Attribute tensor decomposition: the mathematics of Kiros, Zemel and Salakhutdinov (2014) in plain PyTorch.

Names are resolved on first use, so `from atd import Vocabulary` does not pay for PyTorch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from atd.attributes import AttributeTable as AttributeTable
    from atd.errors import AtdError as AtdError
    from atd.lm import LogBilinearLM as LogBilinearLM
    from atd.lm import MultiplicativeLM as MultiplicativeLM
    from atd.lm import TensorLM as TensorLM
    from atd.lm import UnsharedLM as UnsharedLM
    from atd.tensor import FactoredTensor as FactoredTensor
    from atd.vocabulary import Vocabulary as Vocabulary

_HOMES = {
    "AtdError": "atd.errors",
    "AttributeTable": "atd.attributes",
    "FactoredTensor": "atd.tensor",
    "LogBilinearLM": "atd.lm",
    "MultiplicativeLM": "atd.lm",
    "TensorLM": "atd.lm",
    "UnsharedLM": "atd.lm",
    "Vocabulary": "atd.vocabulary",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'atd' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
