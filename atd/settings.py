"""Settings as types: a dataclass beside its task, the rule of a field on the field.

    @dataclass(frozen=True)
    class Settings:
        words: Annotated[int, whole(1)]      # with a rule
        temperature: float                   # any number

`read(Settings, values, "task")` gives the typed settings, or one line that names the key and what is allowed. It is
strict: an unknown key and a missing one are errors. `check_call(kind, values, "data")` does the same for the values
that a class will be constructed with; there the rules are on the parameters, and those with a default may be left out.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from math import isfinite
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from atd.errors import AtdError, one_line

T = TypeVar("T")
UNIONS = (typing.Union, types.UnionType)


@dataclass(frozen=True)
class Rule:
    """What a value must be, and the words for it: "K must be <says>". `made` is what `read` makes of it."""

    fits: Callable[[Any], bool]
    says: str
    made: Callable[[Any], Any] = lambda v: v


def as_name(value: Any) -> str:
    """A name as it was typed: one such as `-1` or `true` arrives as something else."""
    return str(value).lower() if isinstance(value, bool) else str(value)


ANYTHING = Rule(lambda v: True, "anything")
TEXT = Rule(lambda v: isinstance(v, str), "text")
TRUTH = Rule(lambda v: type(v) is bool, "true or false")  # 1 == True, but a number is no yes or no
MAPPING = Rule(lambda v: isinstance(v, Mapping), "a mapping")
NAME = Rule(lambda v: isinstance(v, str | int | float), "a name", as_name)
Name: TypeAlias = Annotated[str, NAME]
SMALLEST, LARGEST = 1e-12, 2**31 - 1  # of the numbers of any setting: arithmetic holds in single precision, too


def whole(low: int | None = None, high: int | None = None) -> Rule:
    def fits(v: Any) -> bool:
        return type(v) is int and (low is None or v >= low) and (high is None or v <= high)

    above = "" if low is None else f", {low} or more"
    return Rule(fits, f"a whole number{above}" + ("" if high is None else f", at most {high}"))


def number(low: float = float("-inf"), high: float = float("inf"), open_low: bool = False) -> Rule:
    def fits(v: Any) -> bool:
        return type(v) in (int, float) and isfinite(v) and (v > low if open_low else v >= low) and v <= high

    above = "" if low == float("-inf") else f" above {low:g}" if open_low else f" {low:g} or more"
    return Rule(fits, f"a number{above}" + (f", at most {high:g}" if high < float("inf") else ""))


def one_of(*choices: Any) -> Rule:
    return Rule(lambda v: v in choices, "one of " + ", ".join(map(str, choices)))


def some_of(*choices: str) -> Rule:
    def fits(v: Any) -> bool:
        return _is_list(v) and len(v) > 0 and all(item in choices for item in v)

    return Rule(fits, "a list of some of " + ", ".join(choices))


def listed(rule: Rule) -> Rule:
    def fits(v: Any) -> bool:
        return _is_list(v) and all(map(rule.fits, v))

    return Rule(fits, f"a list, each {rule.says}", lambda v: list(map(rule.made, v)))


def mapped(rule: Rule) -> Rule:
    def fits(v: Any) -> bool:
        return isinstance(v, Mapping) and all(map(rule.fits, v.values()))

    return Rule(fits, f"a mapping, each value {rule.says}", lambda v: {key: rule.made(one) for key, one in v.items()})


def optional(rule: Rule) -> Rule:
    def made(v: Any) -> Any:
        return None if v is None else rule.made(v)

    return Rule(lambda v: v is None or rule.fits(v), f"{rule.says}, or null", made)


def either(first: Rule, second: Rule) -> Rule:
    def made(v: Any) -> Any:
        return first.made(v) if first.fits(v) else second.made(v)

    return Rule(lambda v: first.fits(v) or second.fits(v), f"{first.says}, or {second.says}", made)


def read(kind: type[T], values: Mapping[str, Any], where: str) -> T:
    """The settings of a configuration group as their type. Nested dataclasses are read likewise."""
    hints = typing.get_type_hints(kind, include_extras=True)
    expected = {f.name: hints[f.name] for f in fields(typing.cast(Any, kind))}
    plain = check_values(expected, values, where, needed=expected)
    nested = {name: read(hint, plain[name], _key(where, name)) for name, hint in expected.items() if _is_settings(hint)}
    return kind(**(plain | nested))


def check_values(
    expected: Mapping[str, Any], values: Mapping[str, Any], where: str, needed: Iterable[str]
) -> dict[str, Any]:
    """Every value as the type it should have; unknown keys, and needed ones that are not there, are errors."""
    for name in values:
        if name not in expected:
            near = difflib.get_close_matches(str(name), expected, n=1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            place = where or "the top level"
            raise AtdError(f"{_key(where, name)}: no such key{hint}; {place} has {', '.join(expected)}")
    for name in needed:
        if name not in values:
            raise AtdError(f"{_key(where, name)}: missing; give it a value")
    made = {}
    for name, value in values.items():
        rule = rule_of(expected[name])
        if rule is not MAPPING and any(map(_is_extreme, _leaves(value))):
            sizes = f"0, or from {SMALLEST:g} to {LARGEST} in size"
            raise AtdError(f"{_key(where, name)}={_shown(value)}: too large or too small; a number is {sizes}")
        if not rule.fits(value):
            raise AtdError(f"{_key(where, name)}={_shown(value)}: must be {rule.says}")
        made[name] = rule.made(value)
    return made


def check_call(kind: type, values: Mapping[str, Any], where: str) -> None:
    """The values that a class will be constructed with, against the annotations of its constructor.

    A constructor that ends in `**others` hands them to the one it builds on, so the parameters of that one count too. A
    mapping given for a dataclass is checked against that one's fields.
    """
    taken = parameters(kind)
    hints = {name: hint for name, (hint, _) in taken.items()}
    check_values(hints, values, where, needed=[name for name, (_, needed) in taken.items() if needed])
    for name, value in values.items():
        if isinstance(value, Mapping):
            for part in filter(_is_settings, parts_of(hints[name])):
                check_call(part, value, _key(where, name))


def parameters(kind: type) -> dict[str, tuple[Any, bool]]:
    """(annotation, whether it must be given) of every value that the constructor of a class takes."""
    found: dict[str, tuple[Any, bool]] = {}
    for base in kind.__mro__:
        constructor = vars(base).get("__init__")
        if constructor is None:
            continue
        hints = typing.get_type_hints(constructor, include_extras=True)
        _, *own = inspect.signature(constructor).parameters.values()
        for one in own:
            if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL):
                found.setdefault(one.name, (hints.get(one.name, Any), one.default is one.empty))
        if all(one.kind is not one.VAR_KEYWORD for one in own):
            break
    return found


def rule_of(hint: Any) -> Rule:
    """The rule on a field, or the one its plain type stands for."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        rules = [extra for extra in arguments[1:] if isinstance(extra, Rule)]
        return rules[0] if rules else rule_of(arguments[0])
    if origin is Literal:
        return one_of(*arguments)
    if origin in UNIONS:
        rules = list({rule.says: rule for rule in map(rule_of, parts_of(hint))}.values())
        joined = functools.reduce(either, rules)
        return optional(joined) if type(None) in arguments else joined
    if origin in (list, tuple, Sequence):
        return listed(rule_of(arguments[0]))
    if origin in (dict, Mapping):
        return MAPPING if arguments[1] is Any else mapped(rule_of(arguments[1]))
    if _is_settings(hint):
        return MAPPING
    plain = {int: whole(), float: number(), bool: TRUTH, str: TEXT}
    return plain.get(hint, ANYTHING)


def parts_of(hint: Any) -> list[Any]:
    """The types that a value may have, without None: of `Annotated[A | B | None, …]`, A and B."""
    if typing.get_origin(hint) is Annotated:
        return parts_of(typing.get_args(hint)[0])
    parts = typing.get_args(hint) if typing.get_origin(hint) in UNIONS else (hint,)
    return [part for part in parts if part is not type(None)]


def _is_settings(hint: Any) -> bool:
    return isinstance(hint, type) and hasattr(hint, "__dataclass_fields__")


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _is_extreme(value: Any) -> bool:
    return isinstance(value, int | float) and (0 < abs(value) < SMALLEST or LARGEST < abs(value) < float("inf"))


def _leaves(value: Any) -> Iterator[Any]:
    """The single values that lists and mappings hold."""
    parts = value.values() if isinstance(value, Mapping) else value if _is_list(value) else None
    if parts is None:
        yield value
    else:
        for part in parts:
            yield from _leaves(part)


def _key(where: str, name: Any) -> str:
    return f"{where}.{name}" if where else str(name)


def _shown(value: Any, most: int = 200) -> str:
    """A value on one line."""
    return "null" if value is None else one_line(value, most) or repr(value)
