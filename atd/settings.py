"""Settings as types: a dataclass beside its task, the rule of a field on the field.

    @dataclass(frozen=True)
    class Settings:
        words: Annotated[int, whole(1)]      # with a rule
        temperature: float                   # any number

`read(Settings, values, "task")` gives the typed settings, or one line that names the key and what is allowed. It is
strict: an unknown key and a missing one are errors.
"""

from __future__ import annotations

import difflib
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, TypeVar

from atd.errors import AtdError

T = TypeVar("T")


@dataclass(frozen=True)
class Rule:
    """What a value must be, and the words for it: "K must be <says>"."""

    fits: Callable[[Any], bool]
    says: str


def whole(low: int | None = None) -> Rule:
    if low is None:
        return Rule(lambda v: type(v) is int, "a whole number")
    return Rule(lambda v: type(v) is int and v >= low, f"a whole number, {low} or more")


def number(low: float = float("-inf"), high: float = float("inf"), open_low: bool = False) -> Rule:
    def fits(v: Any) -> bool:
        return type(v) in (int, float) and (v > low if open_low else v >= low) and v <= high

    above = "" if low == float("-inf") else f" above {low:g}" if open_low else f" {low:g} or more"
    return Rule(fits, f"a number{above}" + (f", at most {high:g}" if high < float("inf") else ""))


def one_of(*choices: Any) -> Rule:
    return Rule(lambda v: v in choices, "one of " + ", ".join(map(str, choices)))


def some_of(*choices: str) -> Rule:
    def fits(v: Any) -> bool:
        return _is_list(v) and len(v) > 0 and set(v) <= set(choices)

    return Rule(fits, "a list of some of " + ", ".join(choices))


def listed(rule: Rule) -> Rule:
    return Rule(lambda v: _is_list(v) and all(map(rule.fits, v)), f"a list, each {rule.says}")


def optional(rule: Rule) -> Rule:
    return Rule(lambda v: v is None or rule.fits(v), f"{rule.says}, or null")


def either(first: Rule, second: Rule) -> Rule:
    return Rule(lambda v: first.fits(v) or second.fits(v), f"{first.says}, or {second.says}")


def read(kind: type[T], values: Mapping[str, Any], where: str) -> T:
    """The settings of a configuration group as their type. Nested dataclasses are read likewise."""
    hints = typing.get_type_hints(kind, include_extras=True)
    expected = {f.name: hints[f.name] for f in fields(typing.cast(Any, kind))}
    plain = check_values(expected, values, where)
    nested = {name: read(hint, plain[name], f"{where}.{name}") for name, hint in expected.items() if _is_settings(hint)}
    return kind(**(plain | nested))


def check_values(expected: Mapping[str, Any], values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Every value against the type it should have; unknown and missing keys are errors."""
    plain = dict(values)
    for name in plain:
        if name not in expected:
            near = difflib.get_close_matches(name, expected, n=1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise AtdError(f"{where}.{name}: no such key{hint}; {where} has {', '.join(expected)}")
    for name, hint in expected.items():
        if name not in plain:
            raise AtdError(f"{where}.{name}: missing; give it a value")
        rule = rule_of(hint)
        if not rule.fits(plain[name]):
            raise AtdError(f"{where}.{name}={plain[name]}: must be {rule.says}")
    return plain


def check_call(kind: type, values: Mapping[str, Any], where: str) -> None:
    """Values that a class is constructed with, against the annotations of its constructor and those it builds on."""
    expected: dict[str, Any] = {}
    given = dict(values)
    for base in kind.__mro__:
        if base.__module__.split(".")[0] != kind.__module__.split(".")[0] or "__init__" not in vars(base):
            continue
        hints = typing.get_type_hints(base.__init__, include_extras=True)
        for name, parameter in inspect.signature(base.__init__).parameters.items():
            if name == "self" or parameter.kind is parameter.VAR_KEYWORD:
                continue
            if name in given or parameter.default is parameter.empty:
                expected.setdefault(name, hints.get(name, Any))
    check_values(expected, given, where)


def rule_of(hint: Any) -> Rule:
    """The rule on a field, or the one its plain type stands for."""
    if typing.get_origin(hint) is Annotated:
        rules = [extra for extra in typing.get_args(hint)[1:] if isinstance(extra, Rule)]
        return rules[0] if rules else rule_of(typing.get_args(hint)[0])
    if typing.get_origin(hint) is Literal:
        return one_of(*typing.get_args(hint))
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        parts = [rule_of(part) for part in typing.get_args(hint) if part is not type(None)]
        joined = parts[0]
        for part in parts[1:]:
            joined = either(joined, part)
        return optional(joined) if type(None) in typing.get_args(hint) else joined
    if typing.get_origin(hint) in (list, tuple, Sequence):
        return listed(rule_of(typing.get_args(hint)[0]))
    if typing.get_origin(hint) in (dict, Mapping) or _is_settings(hint):
        return Rule(lambda v: isinstance(v, Mapping), "a mapping")
    plain_types = {int: whole(), float: number(), bool: one_of(True, False)}
    if hint in plain_types:
        return plain_types[hint]
    if hint is str:
        return Rule(lambda v: isinstance(v, str), "text")
    return Rule(lambda v: True, "anything")


def _is_settings(hint: Any) -> bool:
    return isinstance(hint, type) and hasattr(hint, "__dataclass_fields__")


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
