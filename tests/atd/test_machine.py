"""Memory is kept and threads are patient, unless the environment says otherwise."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

AGAIN = """
import resource, torch
from atd.machine import prepare
{call}
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(3):
        torch.ones(12_000_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
faults()
print(faults())
"""


def printed(program: str, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "OMP_WAIT"))}
    done = subprocess.run(
        [sys.executable, "-c", program], env=kept | environment, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="of the C library of Linux")
def test_freed_memory_is_used_again():
    assert int(printed(AGAIN.format(call="prepare()"))) < 100 < int(printed(AGAIN.format(call="")))


def test_processes_that_are_started_do_the_same_unless_the_environment_says_otherwise():
    program = "import os; from atd.machine import prepare; prepare(); print(os.environ['OMP_WAIT_POLICY'])"
    assert printed(program) == "passive\n" and printed(program, OMP_WAIT_POLICY="active") == "active\n"
    program = "from atd.machine import keep_pages; print(keep_pages())"
    assert printed(program, MALLOC_MMAP_MAX_="65536") == "False\n"


def test_the_program_is_patient_before_it_loads_torch():
    program = "import sys; from atd.machine import prepare; prepare(); print('torch' in sys.modules)"
    assert printed(program) == "False\n"
