"""The shape of the house: one direction of imports, no traces of machines, files of a readable length."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAY_IMPORT = {"atd": {"atd"}, "datamodules": {"atd", "datamodules"}, "tasks": {"atd", "datamodules", "tasks"}}
OURS = {"atd", "datamodules", "tasks", "run"}
FOREIGN_TO_ATD = {"lightning", "hydra", "omegaconf", "wandb", "spacy", "torchmetrics"}


def imports(path: Path) -> set[str]:
    """Top-level packages a file imports anywhere, also inside functions."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_go_one_way(package):
    files = list((ROOT / package).rglob("*.py"))
    assert files
    for path in files:
        found = imports(path)
        assert found & OURS <= MAY_IMPORT[package], f"{path.relative_to(ROOT)} imports {found & OURS}"
        if package == "atd":
            assert not found & FOREIGN_TO_ATD, f"{path.relative_to(ROOT)} imports {found & FOREIGN_TO_ATD}"
