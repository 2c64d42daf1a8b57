"""The shape of the house: which room may know which, how large things are, and what a library may not know.

Read from the source, without importing it; imports inside functions count like any other.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
PACKAGES = ("atd", "datamodules", "tasks", "hydra_plugins")
MAY_IMPORT = {  # of our own
    "atd": {"atd"},
    "datamodules": {"atd", "datamodules"},
    "tasks": {"atd", "datamodules", "tasks"},
    "hydra_plugins": {"atd", "tasks"},
    "run": {"atd", "datamodules", "tasks"},
}
SHARED = {"engine": {"engine"}, "learning": {"engine", "learning"}, "figures": {"engine", "figures"}}  # in tasks/
FOREIGN_TO_ATD = {"lightning", "hydra", "omegaconf", "wandb", "torchmetrics"}
LATE_IN_ATD = {"spacy", "pyarrow", "safetensors", "scipy", "sklearn"}  # imported where needed: `import atd` is quick
MADE_FOR = {  # and imported late themselves
    "atd.arrow_text": {"pyarrow"},
    "atd.numbering_kernel": {"pyarrow"},
    "atd.softmax_classifier": {"scipy"},
}
KEY = re.compile(r"\b(data|model|optim|task|trainer|inference|paths)\.[a-z_]+=?")
MOST_LINES = 300
MOST_ROOMS = 22
TASK_HAS = {"FITS", "Settings", "run"}


@dataclass(frozen=True)
class Module:
    name: str  # dotted
    path: Path
    tree: ast.Module

    @property
    def package(self) -> str:
        return self.name.split(".")[0]

    @property
    def room(self) -> str:
        """The part of tasks/ that it belongs to: engine, learning, figures or a task."""
        return self.name.split(".")[1]

    def imports(self, node: ast.AST | None = None) -> set[str]:
        """Dotted names of all that is imported in a part of the source; `from a import b` may mean the module a.b."""
        found: set[str] = set()
        for one in ast.walk(node or self.tree):
            if isinstance(one, ast.Import):
                found |= {alias.name for alias in one.names}
            elif isinstance(one, ast.ImportFrom):
                assert not one.level, f"{self.name}: imports are absolute here"
                found |= {f"{one.module}.{alias.name}" for alias in one.names}
        return found

    def imported_at_once(self) -> set[str]:
        """What importing the module imports: neither inside functions nor for type checkers alone."""
        found: set[str] = set()
        pending: list[ast.AST] = [self.tree]
        while pending:
            node = pending.pop()
            if isinstance(node, ast.Import | ast.ImportFrom):
                found |= self.imports(node)
            elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                pending += node.orelse
            elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                pending += ast.iter_child_nodes(node)
        return found


@cache
def modules(package: str) -> list[Module]:
    paths = sorted((ROOT / package).rglob("*.py")) if package != "run" else [ROOT / "run.py"]
    return [Module(dotted(path), path, ast.parse(path.read_text(encoding="utf-8"), str(path))) for path in paths]


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def first(names: set[str]) -> set[str]:
    return {name.split(".")[0] for name in names}


def entries(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name != "__pycache__"]


def tasks() -> set[str]:
    """The rooms of tasks/ that are tasks."""
    found = {path.stem for path in entries(ROOT / "tasks") if path.is_dir() or path.suffix == ".py"}
    return found - SHARED.keys() - {"__init__"}


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_packages_know_each_other_in_one_direction(package):
    assert modules(package)
    for module in modules(package):
        ours = first(module.imports()) & MAY_IMPORT.keys()
        assert ours <= MAY_IMPORT[package], f"{module.name} imports {ours - MAY_IMPORT[package]}"


def test_a_task_knows_itself_and_the_shared_rooms():
    """Task → learning, figures → engine; no task knows another, learning and figures do not know each other."""
    for module in modules("tasks"):
        if module.name == "tasks":
            assert not module.imports()
            continue
        allowed = SHARED.get(module.room, {module.room, *SHARED})
        rooms = {name.split(".")[1] for name in module.imports() if name.startswith("tasks.")}
        assert rooms <= allowed, f"{module.name} imports tasks.{rooms - allowed}"


def test_every_room_of_tasks_is_seen_at_a_glance():
    found = entries(ROOT / "tasks")
    assert len(found) <= MOST_ROOMS, f"{len(found)} entries in tasks/: {sorted(path.name for path in found)}"


@pytest.mark.parametrize("package", [*PACKAGES, "run"])
def test_files_are_of_a_readable_length(package):
    lengths = {module.name: len(module.path.read_text(encoding="utf-8").splitlines()) for module in modules(package)}
    assert {name: n for name, n in lengths.items() if n > MOST_LINES} == {}


def test_the_library_is_plain_torch_and_numpy():
    for module in modules("atd"):
        assert not first(module.imports()) & FOREIGN_TO_ATD, module.name
        late = first(module.imported_at_once()) & LATE_IN_ATD
        assert late <= MADE_FOR.get(module.name, set()), f"{module.name} imports {late} at once"


def test_modules_made_for_a_library_are_imported_late():
    for module in modules("atd"):
        for name in module.imported_at_once():
            assert not any(name.startswith(made) for made in MADE_FOR), f"{module.name} imports {name} at once"


def test_the_library_does_not_speak_of_configuration():
    """No text that it may print names a key: what it is called with may come from anywhere."""
    for module in modules("atd"):
        for line, text in texts(module.tree):
            found = KEY.search(text)
            assert not found, f"{module.path.relative_to(ROOT)}:{line} speaks of {found[0]}"


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, text) of every string but docstrings and other strings that are statements."""
    statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in statements:
            yield node.lineno, node.value


def test_a_task_says_what_it_fits_what_it_takes_and_how_it_runs():
    for module in modules("tasks"):
        if module.name.count(".") == 1 and module.room in tasks():
            missing = TASK_HAS - names(module.tree)
            assert not missing, f"{module.name} lacks {', '.join(sorted(missing))}"


def names(tree: ast.Module) -> set[str]:
    """What a module defines or imports at its top."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def test_every_task_can_be_chosen_and_every_choice_is_a_task():
    """A choice is a task of this name, or another's with other settings, named first among its defaults."""
    chosen = {}
    for path in (ROOT / "conf" / "task").glob("*.yaml"):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        settings = content.get("task", content)
        chosen[path.stem] = settings["name"] if "name" in settings else content["defaults"][0]
    assert chosen == {name: name for name in tasks()} | {"controls": "attributes"}


def test_what_these_tests_read_is_the_source():
    """A look at the tools above: an import in a function, one for type checkers, a key in a message."""
    source = """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import pyarrow
else:
    import scipy.sparse
class A:
    import sklearn
    def f(self):
        "Documentation may name data.path."
        from tasks.engine import result
        raise AtdError(f"{self}: set " "data.path=x")
"""
    module = Module("tasks.attributes", ROOT, ast.parse(source))
    late = {"pyarrow", "tasks.engine.result"}
    assert module.imports() - module.imported_at_once() == late
    assert module.imported_at_once() == {"typing.TYPE_CHECKING", "scipy.sparse", "sklearn"}
    assert [line for line, text in texts(module.tree) if KEY.search(text)] == [12]
