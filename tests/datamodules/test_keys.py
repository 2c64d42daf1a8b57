"""An accepted key is a used key: what conf/data offers is what the DataModules take, and all of it does something.

By reading the configuration: the keys of every file of conf/data are just the parameters of its DataModule's
constructor, and every value keeps the rule on its parameter.

By reading the source, for every parameter of every constructor: its value, or an attribute that the constructor puts it
into, is read by something that acts on it. It does not count that

- the constructor stores it, hands it to the constructor it builds on, or refuses some of its values;
- it is part of a cache's name: `settings()`, or a dictionary called `key` or `settings`;
- an attribute of that name of another thing is read: a method must read `self.<attribute>` in the class or one that it
  builds on, other code must read it of something called `data` that is not a configuration (`cfg.data`).

So a key that is parsed, checked, cached by and forgotten is found. That a value has the right effect is for the tests
of that DataModule.
"""

from __future__ import annotations

import ast
import dataclasses
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra.utils import get_class
from omegaconf import OmegaConf

from atd.settings import check_call, parameters, parts_of

ROOT = Path(__file__).parents[2]
FILES = sorted(path.stem for path in (ROOT / "conf" / "data").glob("*.yaml"))
COMPANION = {"europarl_rcv": "task=crosslingual", "parallel": "task=crosslingual"}  # their pairs are the task's
NAMES_OF_A_CACHE = {"key", "settings"}


@cache
def values(choice: str) -> dict:
    """What data=<choice> gives, with something in place of what has no default."""
    chosen = [f"data={choice}", COMPANION.get(choice.removesuffix("_sample"), "task=attributes")]
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        cfg = compose("config", chosen)
    given = {"path": "table.csv", "attributes": ["age"], "sides": {"en": "english", "de": "german"}}
    for name in given.keys() & {name for name in cfg.data if OmegaConf.is_missing(cfg.data, name)}:
        cfg.data[name] = given[name]
    return OmegaConf.to_container(cfg.data, resolve=True)


def kind_of(choice: str) -> type:
    return get_class(values(choice)["_target_"])


@pytest.mark.parametrize("choice", FILES)
def test_the_keys_are_the_parameters_and_their_values_are_allowed(choice):
    keys = {name: value for name, value in values(choice).items() if name != "_target_"}
    assert set(keys) == set(parameters(kind_of(choice)))
    check_call(kind_of(choice), keys, "data")


@pytest.mark.parametrize("kind", sorted({kind_of(choice) for choice in FILES}, key=str), ids=lambda k: k.__name__)
def test_every_parameter_is_used(kind):
    classes = [source(base) for base in kind.__mro__ if base.__module__.startswith("datamodules.")]
    elsewhere = [tree for package in ("datamodules", "tasks") for tree in trees(package)]
    assert unused(classes, elsewhere) == []


@pytest.mark.parametrize("kind", sorted({kind_of(choice) for choice in FILES}, key=str), ids=lambda k: k.__name__)
def test_every_field_of_a_nested_setting_is_used(kind):
    """Such as data.tokeniser.lowercase: the module of that dataclass reads it of `self` or of something else."""
    for name, (hint, _) in parameters(kind).items():
        for nested in filter(dataclasses.is_dataclass, parts_of(hint)):
            read = {node.attr for node in ast.walk(tree_of(nested.__module__)) if is_read(node)}
            missing = {field.name for field in dataclasses.fields(nested)} - read
            assert not missing, f"data.{name}.{missing} of {nested.__name__}"


def unused(classes: list[ast.ClassDef], elsewhere: list[ast.AST]) -> list[str]:
    """The parameters of the constructors of a class and those it builds on, nearest first, that nothing acts on."""
    read = {node.attr for one in classes for node in acting_reads(one)}
    read |= {node.attr for tree in elsewhere for node in ast.walk(tree) if is_read(node) and last_name(node) == "data"}
    idle: list[str] = []
    constructors = [(one.name, method) for one in classes for method in methods(one) if method.name == "__init__"]
    for i, (owner, constructor) in reversed(list(enumerate(constructors))):
        above = constructors[i + 1][1] if i + 1 < len(constructors) else None
        idle_above = {name.partition(".")[2] for name in idle}
        for name in names_of(constructor):
            kept, handed = fate(constructor, name, above)
            if not kept & read and not handed - idle_above:
                idle.append(f"{owner}.{name}")
    return idle


def fate(constructor: ast.FunctionDef, name: str, above: ast.FunctionDef | None) -> tuple[set[str], set[str]]:
    """(attributes that a parameter's value goes into, parameters of the constructor above that it is handed to)."""
    kept: set[str] = set()
    handed: set[str] = set()
    names = {name}
    for node in ast.walk(constructor):  # statements before what they contain, in the order of the source
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            for target, value in assignments(node):
                if mentions(value, names):
                    if isinstance(target, ast.Attribute):
                        kept.add(target.attr)
                    elif isinstance(target, ast.Name):
                        names.add(target.id)
        elif above and isinstance(node, ast.Call) and ast.unparse(node.func) == "super().__init__":
            places = zip(names_of(above), node.args)
            keywords = ((keyword.arg, keyword.value) for keyword in node.keywords)
            handed |= {place for place, value in [*places, *keywords] if place and mentions(value, names)}
    return kept, handed


def assignments(node: ast.Assign | ast.AnnAssign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(target, value) one by one, those of `a, b = x, y` too."""
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts)
        elif isinstance(target, ast.Tuple):
            yield from ((part, node.value) for part in target.elts)
        else:
            yield target, node.value


def acting_reads(one: ast.ClassDef) -> Iterator[ast.Attribute]:
    """Where methods read `self.<attribute>`, but for the constructor and what names a cache."""
    for method in methods(one):
        if method.name in ("__init__", "settings"):
            continue
        naming = {
            id(part)
            for node in ast.walk(method)
            if isinstance(node, ast.Assign) and {ast.unparse(t) for t in node.targets} <= NAMES_OF_A_CACHE
            for part in ast.walk(node.value)
        }
        for node in ast.walk(method):
            if is_read(node) and id(node) not in naming and last_name(node) == "self":
                yield node


def methods(one: ast.ClassDef) -> list[ast.FunctionDef]:
    return [node for node in one.body if isinstance(node, ast.FunctionDef)]


def names_of(constructor: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in [*constructor.args.args[1:], *constructor.args.kwonlyargs]]


def mentions(value: ast.expr, names: set[str]) -> bool:
    return any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(value))


def is_read(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)


def last_name(node: ast.Attribute) -> str:
    """What the attribute is read of: `data` in data.seed and in self.data.seed, nothing in cfg.data.seed."""
    of = ast.unparse(node.value).split(".")
    return "" if "cfg" in of else of[-1]


@cache
def trees(package: str) -> list[ast.Module]:
    return [ast.parse(path.read_text(encoding="utf-8"), str(path)) for path in sorted((ROOT / package).rglob("*.py"))]


def tree_of(module: str) -> ast.Module:
    return ast.parse(Path(sys.modules[module].__file__).read_text(encoding="utf-8"))


def source(kind: type) -> ast.ClassDef:
    tree = tree_of(kind.__module__)
    return next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind.__name__)


EXAMPLE = """
class Child(Parent):
    def __init__(self, *, acted, stored, {name}, local, **common):
        super().__init__(stored, passed_on={name}, **common)
        if stored < 1 or {name} < 1:
            raise ValueError(stored)
        self.acted, self.{name} = list(acted), {name}
        folder = path_of(local) if local else None
        self.folder = folder

    def settings(self):
        return {{"{name}": self.{name}}}

    def build(self):
        key = {{"files": 1, "{name}": self.{name}}}
        other.{name}.read()
        return key, self.acted, self.folder

class Parent(Base):
    def __init__(self, stored, passed_on, seen):
        self.stored = stored
        self.passed_on = passed_on
        self.seen = seen

    def open(self):
        return self.stored
"""


@pytest.mark.parametrize(
    ("name", "elsewhere", "idle"),
    [
        ("forgotten", "", ["Parent.passed_on", "Parent.seen", "Child.forgotten"]),
        ("forgotten", "cfg.data.forgotten + task.forgotten + self.data.seen", ["Parent.passed_on", "Child.forgotten"]),
        ("forgotten", "data.forgotten + data.seen", ["Parent.passed_on"]),
        ("forgotten", "data.passed_on + data.seen", []),  # the constructor above acts on it
    ],
)
def test_the_search_finds_what_is_forgotten(name, elsewhere, idle):
    """A parameter that is stored, checked, handed on and put into keys alone is not used."""
    classes = ast.parse(EXAMPLE.format(name=name)).body
    assert unused(classes, [ast.parse(elsewhere)]) == idle
