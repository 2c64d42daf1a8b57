"""Programs start with patient threads and large pages, unless the environment says otherwise."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from atd.machine import PATIENCE, TUNABLES, processor, wanted

SAYS = f"""
import os, sys
from atd.machine import prepare
prepare()
print(os.environ["{PATIENCE}"], os.environ["{TUNABLES}"], "torch" in sys.modules, sys.argv[1:])
"""


def test_what_the_environment_says_is_left_as_it_is():
    assert wanted({}) == {PATIENCE: "passive", TUNABLES: "glibc.malloc.hugetlb=1"}
    said = {PATIENCE: "active", TUNABLES: "glibc.malloc.hugetlb=0"}
    assert wanted(said) == said
    assert wanted({TUNABLES: "glibc.malloc.arena_max=2"})[TUNABLES] == "glibc.malloc.arena_max=2:glibc.malloc.hugetlb=1"
    assert wanted(wanted({})) == wanted({})


def test_the_processor_has_cores_and_a_name():
    assert re.match(rf"{os.cpu_count()} cores of \w", processor())


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="of the C library of Linux")
def test_a_program_starts_again_once_with_its_arguments(tmp_path: Path):
    (tmp_path / "says.py").write_text(SAYS)
    kept = {name: value for name, value in os.environ.items() if name not in (PATIENCE, TUNABLES)}
    command = [sys.executable, str(tmp_path / "says.py"), "a b", "--c"]
    done = subprocess.run(command, env=kept, capture_output=True, text=True, check=True)
    assert done.stdout == "passive glibc.malloc.hugetlb=1 False ['a b', '--c']\n"
