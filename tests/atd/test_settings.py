"""Settings are typed and strict: a value that breaks its rule is one line that names the key and what is allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from atd.errors import AtdError
from atd.settings import (
    MAPPING,
    TEXT,
    check_call,
    either,
    listed,
    mapped,
    number,
    one_of,
    optional,
    read,
    rule_of,
    some_of,
    whole,
)

RULES = [  # rule, what it says, what fits, what does not
    (whole(), "a whole number", [0, -3, 10**12], [1.0, True, "1", None]),
    (whole(1), "a whole number, 1 or more", [1, 7], [0, -1, 1.5, True]),
    (number(), "a number", [0, -1.5], ["1", None, True, float("nan"), float("inf")]),
    (number(0), "a number 0 or more", [0, 0.0, 3], [-1e-9]),
    (number(0, 0.3, open_low=True), "a number above 0, at most 0.3", [1e-9, 0.3], [0, 0.0, 0.31]),
    (one_of("a", "b"), "one of a, b", ["a"], ["c", None, ["a"]]),
    (some_of("a", "b"), "a list of some of a, b", [["a"], ("b", "a")], [[], "a", ["a", "c"], [{}]]),
    (listed(whole(0)), "a list, each a whole number, 0 or more", [[], [0, 2]], [3, [-1], "12", None]),
    (mapped(whole(2)), "a mapping, each value a whole number, 2 or more", [{}, {"a": 2}], [{"a": 1}, [2], 2]),
    (optional(whole(4)), "a whole number, 4 or more, or null", [None, 4], [3, "null"]),
    (either(whole(1), one_of("auto")), "a whole number, 1 or more, or one of auto", [2, "auto"], [0, "cpu"]),
]
TYPES = [  # annotation, the rule it stands for
    (int, "a whole number", [3], [3.0, True]),
    (float, "a number", [3, 0.5], ["x", True]),
    (bool, "true or false", [True, False], [1, 0, "true"]),
    (str, "text", ["x", ""], [1, None]),
    (int | None, "a whole number, or null", [None, 3], ["x"]),
    (int | str, "a whole number, or text", [3, "x"], [0.5, None]),
    (list[int], "a list, each a whole number", [[1]], [[0.5], 1]),
    (Sequence[str], "a list, each text", [["x"], ()], ["x", [1]]),
    (dict[str, int], "a mapping, each value a whole number", [{"a": 1}], [{"a": "x"}, []]),
    (Mapping[str, Any], "a mapping", [{"a": object()}], [[]]),
    (Mapping[str, Any] | dict[str, Any] | str, "a mapping, or text", [{}, "x"], [3]),
    (Literal["a", "b"], "one of a, b", ["a"], ["c"]),
    (Annotated[int, whole(1)], "a whole number, 1 or more", [1], [0]),
    (Annotated[int | None, "a note, no rule"], "a whole number, or null", [1, None], ["x"]),
    (Path, "anything", ["x", None], []),
    (Any, "anything", ["x", None], []),
]


@pytest.mark.parametrize(("rule", "says", "good", "bad"), RULES, ids=[row[1] for row in RULES])
def test_rules(rule, says, good, bad):
    assert rule.says == says
    assert all(rule.fits(value) for value in good)
    assert not any(rule.fits(value) for value in bad)


@pytest.mark.parametrize(("hint", "says", "good", "bad"), TYPES, ids=[f"{i} {row[1]}" for i, row in enumerate(TYPES)])
def test_a_type_without_a_rule_is_one(hint, says, good, bad):
    test_rules(rule_of(hint), says, good, bad)


@dataclass(frozen=True)
class Style:
    words: Annotated[int, whole(1)]
    temperature: float


@dataclass(frozen=True)
class Settings:
    name: str
    style: Style
    books: list[str] | None = None


VALUES = {"name": "tour", "style": {"words": 20, "temperature": 1}, "books": ["emma"]}


def test_read_gives_the_type_all_the_way_down():
    assert read(Settings, VALUES, "task") == Settings("tour", Style(20, 1), ["emma"])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"nmae": 1}, r"^task\.nmae: no such key \(did you mean name\?\); task has name, style, books$"),
        ({"xyz": 1}, r"^task\.xyz: no such key; task has"),
        ({"name": 3}, r"^task\.name=3: must be text$"),
        ({"style": 3}, r"^task\.style=3: must be a mapping$"),
        ({"style": {"words": 20}}, r"^task\.style\.temperature: missing; give it a value$"),
        ({"style": {"words": 0, "temperature": 1}}, r"^task\.style\.words=0: must be a whole number, 1 or more$"),
        ({"style": {"words": 1, "temperature": 1, "x": 0}}, r"^task\.style\.x: no such key"),
        ({"books": "emma"}, r"^task\.books=emma: must be a list, each text, or null$"),
    ],
)
def test_read_is_strict(change, says):
    with pytest.raises(AtdError, match=says):
        read(Settings, VALUES | change, "task")


def test_a_default_is_no_leave_to_be_silent_in_settings():
    with pytest.raises(AtdError, match=r"task\.books: missing"):
        read(Settings, {name: VALUES[name] for name in ("name", "style")}, "task")


class Parent:
    def __init__(
        self,
        size: Annotated[int, whole(1)],
        seed: Annotated[int, whole(0)] = 0,
        style: Annotated[Style | Mapping[str, Any] | str, either(one_of("plain"), MAPPING)] = "plain",
    ):
        pass


class Child(Parent):
    def __init__(self, *, text: str, seed: Annotated[int, whole(5)] = 5, **common: Any):
        super().__init__(**common, seed=seed)


class Grandchild(Child):
    """Without a constructor of its own."""


class Closed(Parent):
    """Its constructor takes no more than it names."""

    def __init__(self, text: Annotated[str, TEXT]):
        super().__init__(size=1)


GIVEN = {"text": "a", "size": 3}


@pytest.mark.parametrize("kind", [Child, Grandchild])
@pytest.mark.parametrize(
    "more", [{}, {"seed": 5}, {"style": "plain"}, {"style": {"words": 1, "temperature": 0.5}}], ids=str
)
def test_values_that_a_class_takes(kind, more):
    check_call(kind, GIVEN | more, "data")


@pytest.mark.parametrize("kind", [Child, Grandchild])
@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"text": "a"}, r"^data\.size: missing; give it a value$"),
        ({"size": 3}, r"^data\.text: missing"),
        (GIVEN | {"size": 0}, r"^data\.size=0: must be a whole number, 1 or more$"),
        (GIVEN | {"seed": 4}, r"^data\.seed=4: must be a whole number, 5 or more$"),  # the child's own rule
        (GIVEN | {"sizes": 0}, r"^data\.sizes: no such key \(did you mean size\?\); data has text, seed, size, style$"),
        (GIVEN | {"sede": 0}, r"^data\.sede: no such key \(did you mean seed\?\)"),
        (GIVEN | {"common": {}}, r"^data\.common: no such key"),
        (GIVEN | {"self": 1}, r"^data\.self: no such key"),
        (GIVEN | {"style": "fancy"}, r"^data\.style=fancy: must be one of plain, or a mapping$"),
        (GIVEN | {"style": {"words": 1}}, r"^data\.style\.temperature: missing"),
        (GIVEN | {"style": {"words": 0, "temperature": 1}}, r"^data\.style\.words=0: must be"),
        (
            GIVEN | {"style": {"wrods": 1, "temperature": 1}},
            r"^data\.style\.wrods: no such key \(did you mean words\?\)",
        ),
    ],
)
def test_values_that_a_class_does_not_take(kind, values, says):
    with pytest.raises(AtdError, match=says):
        check_call(kind, values, "data")


def test_a_closed_constructor_does_not_take_what_its_parent_takes():
    check_call(Closed, {"text": "a"}, "data")
    with pytest.raises(AtdError, match=r"^data\.size: no such key"):
        check_call(Closed, GIVEN, "data")
