"""The pages of the documentation: their code blocks, their commands, and when a command is right.

A command is right by its program: `python run.py …` runs small (tests/small_runs.py) or, where it needs GPUs, a cluster
or many minutes, is composed and checked; make, pip, docker and the others name targets, extras, files that exist.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import small_runs
import yaml
from small_runs import ROOT, TOUR, finite_metric, run_small, works

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@dataclass(frozen=True)
class Piece:
    """A code block or, with no language, a command."""

    doc: str
    line: int
    text: str
    language: str = ""

    @property
    def file(self) -> str | None:
        """The file that the block is the content of."""
        found = re.match(r"# file: (\S+)\n", self.text)
        return found[1] if found else None

    def __str__(self) -> str:
        return f"{self.doc}:{self.line}"


def blocks(doc: Path) -> list[Piece]:
    text = doc.read_text(encoding="utf-8")
    fences = re.finditer(r"^```(.*)\n((?:.*\n)*?)```$", text, flags=re.M)
    return [Piece(doc.name, text[: m.start()].count("\n") + 2, m[2], m[1]) for m in fences]


def commands(doc: Path) -> list[Piece]:
    """The lines of shell blocks, and code within sentences that starts with a program."""
    out = []
    for block in blocks(doc):
        if block.language == "sh":
            joined = re.sub(r" *\\\n\s*", "\0", block.text)
            for number, line in enumerate(joined.splitlines()):
                start = block.line + number + "\n".join(joined.splitlines()[:number]).count("\0")
                out += [Piece(doc.name, start, part) for part in simple_commands(line.replace("\0", " "))]
    prose = re.sub(r"^```.*\n(?:.*\n)*?```$", lambda m: "\n" * m[0].count("\n"), doc.read_text("utf-8"), flags=re.M)
    for m in re.finditer(r"`([^`]+)`", prose):
        for part in simple_commands(" ".join(m[1].split())):
            if " " in part and shlex.split(part.replace("'", ""))[0] in RULES:
                out.append(Piece(doc.name, prose[: m.start()].count("\n") + 1, part))
    return out


def simple_commands(line: str) -> list[str]:
    """Of a line with several: each, without comment, what it assigns to and the environment it sets."""
    line = re.sub(r"(^|\s+)# .*", "", line)
    parts = [re.sub(r"^\w+=\$\((.*)\)$", r"\1", part.strip()) for part in line.split("; ")]
    return [re.sub(r"^(\w+=\S* )+", "", part) for part in parts if part]


def python(words: list[str]) -> None:
    if words[0] == "run.py":
        run_py(words[1:])
    elif words[0] == "-c":
        compile(words[1], "command", "exec")
    elif words[0] == "-m":
        assert find_spec(words[1]), f"no module {words[1]}"
    else:
        assert (ROOT / words[0]).is_file(), f"no file {words[0]}"


def run_py(words: list[str]) -> None:
    """Run it small; `…` stands for what the reader fills in. A task or experiment alone runs in test_experiments.py."""
    for word in words:
        key, _, value = word.partition("=")
        assert value != "…" or key == "checkpoint" or (small_runs.CONF / key).is_dir(), f"no group {key}"
    words = [word for word in words if not re.fullmatch(r"checkpoint=[\d_-]+", word)]  # a run of long ago: train anew
    words = [f"checkpoint={TOUR}" if word.startswith("checkpoint=") else word for word in words]
    words = [word for word in words if word != "…" and not word.endswith("=…")]
    if any(word.startswith("--") for word in words):
        asked = [sys.executable, str(ROOT / "run.py"), *words]
        assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout
        return
    if any(word.startswith(("resume=", "checkpoint=", "init_from=")) for word in words):
        small_runs.tour()
    if any(word.startswith("resume=") for word in words):
        assert finite_metric(run_small(words))
        return
    cfg = small_runs.checked(words)[0]
    task_alone = len(words) == 1 and words[0][5:] in small_runs.TRAINING
    experiment_alone = (
        words[:1] and words[0].startswith("experiment=") and all(word == f"checkpoint={TOUR}" for word in words[1:])
    )
    alone = task_alone or experiment_alone
    assert alone or small_runs.too_large(words, cfg) or works(words)


def after_run_py(words: list[str]) -> None:
    """torchrun and srun: what they start, on however many nodes."""
    small_runs.checked(words[words.index("run.py") + 1 :])


def make(words: list[str]) -> None:
    makefile = (ROOT / "Makefile").read_text()
    for word in words:
        pattern = rf"^{word.partition('=')[0]} \?=" if "=" in word else rf"^{word}:"
        assert re.search(pattern, makefile, flags=re.M), f"the Makefile has no {word}"


def pip(words: list[str]) -> None:
    """Installs this checkout, with extras that exist."""
    assert words[0] in ("install", "wheel")
    for extras in re.findall(r"\[(.*?)\]", " ".join(words)):
        assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"]), f"no extra {extras}"
    assert len(words) == 1 or any(re.fullmatch(r"\.(\[.*\])?", word) for word in words), words


def docker(words: list[str]) -> None:
    """Files exist; what follows an image's or a service's name is what follows `python run.py`."""
    for flag, value in pairwise(words):
        assert flag != "-f" or (ROOT / value).is_file(), f"no file {value}"
    if words[0] == "run":
        image = next(i for i, word in enumerate(words) if re.fullmatch(r"atd(:\w+)?", word))
        small_runs.checked(words[image + 1 :])
    elif words[0] == "compose":
        file = words[words.index("-f") + 1]
        services = yaml.safe_load((ROOT / file).read_text())["services"]
        rest = [word for word in words[words.index("run" if "run" in words else "up") + 1 :] if word[0] != "-"]
        assert rest[0] in services, f"{file} has no service {rest[0]}"
        small_runs.checked(rest[1:])
    else:
        assert words[0] == "build" and words[-1] == "."


def buildah(words: list[str]) -> None:
    for flag, value in pairwise(words):
        assert flag != "-f" or (ROOT / value).is_file(), f"no file {value}"
    if "--" in words:
        assert words[words.index("--") + 1 :][:2] == ["python", "run.py"]


def pytest_(words: list[str]) -> None:
    """Files exist, and -k names a test in them."""
    files = [ROOT / word for word in words if word.endswith(".py")]
    assert files and all(file.is_file() for file in files), words
    if "-k" in words:
        assert words[words.index("-k") + 1] in "".join(file.read_text(encoding="utf-8") for file in files)


def wandb(words: list[str]) -> None:
    from wandb.cli.cli import cli

    assert words[0] in cli.commands


def pre_commit(words: list[str]) -> None:
    """Its hooks are the commands of `make lint`, and run."""
    assert words == ["install"]
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repository["repo"] == "local"  # nothing is fetched
    lint = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), flags=re.M)
    assert lint and [hook["name"] for hook in repository["hooks"]] == re.findall(r"\$\(BIN\)/(.*?)(?: \.)?\n", lint[1])
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for hook in repository["hooks"]:
        if hook.get("pass_filenames", True):
            run = [*shlex.split(hook["entry"]), "tests/test_docs.py"]
            subprocess.run(run, cwd=ROOT, env=os.environ | {"PATH": path}, check=True, capture_output=True)


def atd_(words: list[str]) -> None:
    """Runs in this process; what is trained is small, and a page is not served."""
    from atd.cli import main, parser

    asked = parser().parse_args(words)
    if asked.command == "explore" or "…" in words:
        return
    small = ["--K=8", "--F=8", "--D=4", "--epochs=1", "--min-steps=0"]
    needed = asked.init_from if asked.command == "fit" else words[1]
    if needed and not Path(needed).exists():  # the line that trains it may run in another process
        assert main(["fit", "reviews.csv", "--attributes", "age", "gender", "--out", needed, *small]) == 0
    assert main([*words, *small] if asked.command == "fit" else words) == 0, words


def tool(words: list[str]) -> None:
    """A program from elsewhere, whose arguments say nothing about this project."""


RULES: dict[str, Callable[[list[str]], None]] = {
    "python": python,
    "torchrun": after_run_py,
    "srun": after_run_py,
    "atd": atd_,
    "make": make,
    "pip": pip,
    "docker": docker,
    "buildah": buildah,
    "pytest": pytest_,
    "wandb": wandb,
    "pre-commit": pre_commit,
    "debootstrap": tool,
    "ln": tool,
    "git": tool,
}
