"""Pin what is installed here, and nothing the image does not need: python docker/lock.py > docker/requirements.lock"""

from __future__ import annotations

import tomllib
from importlib.metadata import requires, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

EXTRAS = ("platform", "page", "sweep", "cluster")


def wanted() -> list[Requirement]:
    """The dependencies of pyproject.toml with the extras of the image."""
    path = Path(__file__).parent.parent / "pyproject.toml"
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
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


if __name__ == "__main__":
    print("# Versions that were tested together. To renew: install '.[page,sweep,cluster]', run the tests, then")
    print("#   python docker/lock.py > docker/requirements.lock")
    print("# torch pins its CUDA libraries itself, so they are not listed.")
    for name, pinned in sorted(closure().items()):
        print(f"{name}=={pinned}")
