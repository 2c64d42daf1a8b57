"""What scikit-learn asks of an estimator, without scikit-learn: parameters that can be read, set and copied."""

from __future__ import annotations

import inspect
from typing import Any, Self

from atd.errors import AtdError


class Parameters:
    """The parameters of the constructor are attributes of the same names, stored as they were given.

    That is all that `sklearn.base.clone`, `Pipeline` and the searches need.
    """

    @classmethod
    def _names(cls) -> dict[str, Any]:
        """The constructor's parameters and their defaults."""
        _, *own = inspect.signature(cls.__init__).parameters.values()
        return {one.name: one.default for one in own}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Self:
        for name, value in params.items():
            if name not in (names := self._names()):
                raise AtdError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(names)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """With what differs from the defaults."""
        changed = {name: getattr(self, name) for name, default in self._names().items()}
        shown = [f"{name}={changed[name]!r}" for name, default in self._names().items() if changed[name] != default]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        takes = InputTags(one_d_array=True, two_d_array=False, string=True, dict=True)
        return Tags(None, TargetTags(required=False), TransformerTags(), input_tags=takes)
