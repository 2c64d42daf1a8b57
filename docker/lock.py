"""Pin what is installed here, with the SHA-256 of every file, and nothing the image does not need.

    python docker/lock.py           requirements.lock (wheels) and source.lock (packages that have none)
    python docker/lock.py cuda      torch-cuda.lock: torch and its CUDA libraries
    python docker/lock.py cpu       torch-cpu.lock: torch alone

Run it on Linux x86-64 with Python 3.11, in the environment that passed the tests. pip says which files it would install
and their SHA-256, so the index is the one that pip is set to: for `cpu` one of CPU wheels, for `cuda` the usual one.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import requires, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HERE = Path(__file__).parent
EXTRAS = ("platform", "page", "sweep", "cluster")
HEADER = """\
# Versions that were tested together, for Python 3.11 on Linux x86-64. To renew: install '.[page,sweep,cluster]', run
# the tests, then python docker/lock.py
"""


def wanted() -> list[Requirement]:
    """The dependencies of pyproject.toml with the extras of the image."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = (line for extra in EXTRAS for line in project["optional-dependencies"][extra])
    needs = [Requirement(line) for line in (*project["dependencies"], *extras)]
    return [need for need in needs if need.name != project["name"]]  # an extra may build on another


def closure() -> dict[str, str]:
    """Every package they need, with the installed version (without a local part such as +cpu)."""
    found: dict[str, str] = {}
    seen, waiting = set(), wanted()
    while waiting:
        need = waiting.pop()
        name = canonicalize_name(need.name)
        if (name, *need.extras) in seen:
            continue
        seen.add((name, *need.extras))
        found[name] = version(name).split("+")[0]
        for line in requires(name) or []:
            child = Requirement(line)
            if child.marker is None or any(child.marker.evaluate({"extra": e}) for e in ("", *need.extras)):
                waiting.append(child)
    return found


def ask_pip(*needs: str) -> list[dict]:
    """What pip would install for these, file by file."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        subprocess.run([*command, "--report", str(report), *needs], check=True)
        return json.loads(report.read_text(encoding="utf-8"))["install"]


def lines(files: list[dict]) -> str:
    """name==version and the hash of the file, in order of names."""
    pins = {}
    for file in files:
        name = canonicalize_name(file["metadata"]["name"])
        digest = file["download_info"]["archive_info"]["hashes"]["sha256"]
        pins[name] = f"{name}=={file['metadata']['version']} \\\n    --hash=sha256:{digest}\n"
    return "".join(pins[name] for name in sorted(pins))


def is_wheel(file: dict) -> bool:
    return file["download_info"]["url"].endswith(".whl")


def main(variant: str | None) -> None:
    pinned = closure()
    torch = pinned.pop("torch")
    if variant is None:
        files = ask_pip("--no-deps", *(f"{name}=={number}" for name, number in pinned.items()))
        write("requirements.lock", [file for file in files if is_wheel(file)])
        write("source.lock", [file for file in files if not is_wheel(file)])
        return
    needs = ask_pip(f"torch=={torch}")
    write(f"torch-{variant}.lock", [f for f in needs if canonicalize_name(f["metadata"]["name"]) not in pinned])


def write(name: str, files: list[dict]) -> None:
    (HERE / name).write_text(HEADER + lines(files), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
