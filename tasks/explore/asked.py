"""What a request may hold: numbers in their range, text of a bearable length. All else is refused in a sentence."""

from __future__ import annotations

from typing import Any

from atd.errors import AtdError

NAME = 500  # characters of a name, or of a sum of names


class UnknownWord(AtdError):
    def __init__(self, word: str, suggestions: list[str]):
        super().__init__(f"the model does not know the word “{word}”")
        self.suggestions = suggestions


def number(value: Any, name: str, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise AtdError(f"{name}: give a number from {low:g} to {high:g}")
    return value


def text(value: Any, name: str, most: int) -> str:
    if not isinstance(value, str):
        raise AtdError(f"{name}: give text")
    if len(value) > most:
        raise AtdError(f"{name}: {len(value):,} characters are too many; the limit is {most:,}")
    return value.encode("utf-8", "replace").decode()  # half a surrogate pair is no character


def listed(value: Any, name: str, most: int) -> list[dict]:
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value) or not 1 <= len(value) <= most:
        raise AtdError(f"{name}: give a list of 1 to {most} attributes with weights")
    return value


def profile(value: Any, name: str = "profile") -> dict[str, str]:
    """A value for some of the columns; an empty one is the column's average."""
    if not isinstance(value, dict) or len(value) > 100:
        raise AtdError(f"{name}: give a value for each column")
    return {text(column, name, NAME): text(one, name, NAME) for column, one in value.items() if one != ""}
