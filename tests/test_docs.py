"""Every command and every code block of README.md, CONTRIBUTING.md and docs/ works.

Python blocks are executed in order, with a trained tour at the path they name. A block whose first line is
`# file: <path>` is a file of an example: CONTRIBUTING.md's are written, and its diffs applied, in a copy of the
checkout, where its commands then run.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import small_runs
import yaml
from documented import RULES, Piece, blocks, commands
from small_runs import ROOT

DOCS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LANGUAGES = ("sh", "python", "yaml", "diff", "text", "math")


@pytest.fixture(autouse=True)
def world(cache):
    with small_runs.small_world(cache=cache):
        yield


def here(doc: Path) -> list[Piece]:
    """The commands of a page that need none of its own examples."""
    shows_files = any(block.file or block.language == "diff" for block in blocks(doc))
    return [c for c in commands(doc) if not (shows_files and c.text.startswith("python run.py"))]


@pytest.mark.parametrize("doc", DOCS, ids=lambda doc: doc.name)
def test_every_block_says_what_it_is(doc):
    text = doc.read_text(encoding="utf-8")
    assert len(blocks(doc)) == len(re.findall("^```", text, flags=re.M)) / 2
    for block in blocks(doc):
        assert block.language in LANGUAGES, f"{block}: give it a language of {', '.join(LANGUAGES)}"
        if block.language == "yaml":
            yaml.safe_load(block.text)
        if block.language == "text" and not block.file:
            first = [line.split()[0] for line in block.text.splitlines() if line.split()]
            assert not set(first) & set(RULES), f"{block}: holds commands, so it is sh"


@pytest.mark.parametrize("command", [c for doc in DOCS for c in here(doc)], ids=str)
def test_a_command_works(command):
    program, *words = shlex.split(command.text, comments=True)
    assert program in RULES, f"{command}: no rule says when {program} is right"
    RULES[program](words)


@pytest.mark.parametrize("doc", [doc for doc in DOCS if any(b.language == "python" for b in blocks(doc))], ids=str)
def test_python_blocks_run_in_order(doc):
    small_runs.tour()
    names: dict = {"__name__": doc.stem}
    for block in blocks(doc):
        if block.language == "python" and not block.file:
            exec(compile(block.text, str(block), "exec"), names)


@pytest.mark.parametrize("doc", DOCS, ids=lambda doc: doc.name)
def test_files_that_a_page_names_are_there(doc):
    """Links, and paths in code such as `atd/softmax.py`; not those of its own examples."""
    text = doc.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    assert not [link for link in links if not (doc.parent / link).exists()]
    shown = {block.file for block in blocks(doc)}
    folders = r"(?:atd|conf|datamodules|docker|docs|hydra_plugins|tasks|tests)"
    named = set(re.findall(rf"`({folders}/[\w./-]+\.\w+)[`:]", text)) - shown
    assert not [path for path in named if not (ROOT / path).exists()]


def anchors(page: Path) -> set[str]:
    """Those that GitHub gives the headings of a page."""
    prose = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.*)$", prose, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("doc", DOCS, ids=lambda doc: doc.name)
def test_anchors_that_a_page_links_to_are_headings(doc):
    links = re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", doc.read_text(encoding="utf-8"))
    for link, anchor in links:
        page = doc.parent / link if link else doc
        assert "://" in link or anchor in anchors(page), f"{link}#{anchor}"


def test_every_hop_of_the_architecture_names_what_is_there():
    """Lines such as "9. `tasks/learning/training.py`: `fit`"."""
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    hops = re.findall(r"^\d+\. `(\S+\.py)`: (.*?)(?:, kept.*)?$", text, flags=re.M)
    assert hops
    for file, does in hops:
        source = (ROOT / file).read_text(encoding="utf-8")
        names = {
            name.split(".")[-1] for name in re.findall(r"`([\w.]+)`", does) if not re.search(r"\.(py|json|html)$", name)
        }
        assert {name for name in names if not re.search(rf"\b{name}\b", source)} == set(), file


def edit(tree: Path, block: Piece) -> None:
    """What a diff block says: after `# edit: <path>`, lines with a minus become those with a plus; `…` parts places."""
    head, body = block.text.split("\n", 1)
    path = tree / head.removeprefix("# edit: ")
    for place in body.split("…\n"):
        lines = place.splitlines()
        before, after = ("\n".join(line[1:] for line in lines if line[0] in signs) for signs in (" -", " +"))
        text = path.read_text(encoding="utf-8")
        assert text.count(before) == 1, f"{block}: not once in {path.name}:\n{before}"
        path.write_text(text.replace(before, after), encoding="utf-8")


def test_the_examples_of_contributing_run(tmp_path):
    """In a copy of the checkout: its files are written, its diffs applied, its commands run small."""
    doc = ROOT / "CONTRIBUTING.md"
    for name in ("atd", "conf", "datamodules", "tasks", "hydra_plugins", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "run.py", tmp_path)
    for block in blocks(doc):
        if block.file:
            assert block.text.count("\n") <= 41, f"{block}: an example has at most 40 lines"
            (tmp_path / block.file).parent.mkdir(exist_ok=True, parents=True)
            assert not (tmp_path / block.file).exists(), f"{block}: is there already"
            (tmp_path / block.file).write_text(block.text.split("\n", 1)[1], encoding="utf-8")
        elif block.language == "diff":
            edit(tmp_path, block)
    asked = [c.text.removeprefix("python run.py") for c in commands(doc) if c.text.startswith("python run.py")]
    run = [sys.executable, "tests/small_runs.py", *asked]
    done = subprocess.run(run, cwd=tmp_path, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr[-3000:]
