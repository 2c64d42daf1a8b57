"""Attribute tensor decomposition: the mathematics of Kiros, Zemel and Salakhutdinov (2014) in plain PyTorch.

`atd.AttributeModel(attributes=["age"]).fit(table)` trains a model, `atd.load(path)` reads one. Names are
resolved on first use, so `from atd import Vocabulary` does not pay for PyTorch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from atd.attributes import AttributeTable as AttributeTable
    from atd.errors import AtdError as AtdError
    from atd.estimator import AttributeModel as AttributeModel
    from atd.lm import LogBilinearLM as LogBilinearLM
    from atd.lm import MultiplicativeLM as MultiplicativeLM
    from atd.lm import UnsharedLM as UnsharedLM
    from atd.models import load as load
    from atd.tensor import FactoredTensor as FactoredTensor
    from atd.tensor_lm import TensorLM as TensorLM
    from atd.tokeniser import Tokeniser as Tokeniser
    from atd.trained import Trained as Trained
    from atd.training import Training as Training
    from atd.vocabulary import Vocabulary as Vocabulary

    __version__: str

_HOMES = {
    "AtdError": "atd.errors",
    "AttributeModel": "atd.estimator",
    "AttributeTable": "atd.attributes",
    "FactoredTensor": "atd.tensor",
    "LogBilinearLM": "atd.lm",
    "MultiplicativeLM": "atd.lm",
    "TensorLM": "atd.tensor_lm",
    "Tokeniser": "atd.tokeniser",
    "Trained": "atd.trained",
    "Training": "atd.training",
    "UnsharedLM": "atd.lm",
    "Vocabulary": "atd.vocabulary",
    "load": "atd.models",
}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name not in _HOMES:
        raise AttributeError(f"module 'atd' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _version() -> str:
    """The version in pyproject.toml: as it was installed, or of the checkout that the package lies in."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("atd")
    except PackageNotFoundError:
        import tomllib
        from pathlib import Path

        file = Path(__file__).parent.parent / "pyproject.toml"
        project = tomllib.loads(file.read_text(encoding="utf-8")).get("project", {}) if file.is_file() else {}
        return project["version"] if project.get("name") == "atd" else "unknown"
