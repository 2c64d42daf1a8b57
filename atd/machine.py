"""What a program of ours asks of the machine: patient threads, and memory in large pages.

**Patience.** A thread of OpenMP that waits for the others spins, so as not to lose a moment. On a machine that others
use as well it spins in the way of the thread it waits for: a training step took 37 ms on one thread, 80 to 600 on two.
With threads that sleep while they wait it took 16.

**Large pages.** A training step needs arrays as large as the vocabulary, frees them, and needs them again in the next
step. Each time the kernel hands out new pages and fills them with zeros: of a sampled step that is a quarter to a third
of the time. glibc can ask for pages of 2 MB instead of 4 kB, which takes a third off the step. Keeping freed memory
(`mallopt`) saves as much, but leaves gaps that no array of the same size fits in: a step then held up to 1.9 times the
memory.

Both are variables of the environment that count only if they are there when a process starts. What the environment
says already is left as it is.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Mapping
from pathlib import Path

PATIENCE = "OMP_WAIT_POLICY"
TUNABLES = "GLIBC_TUNABLES"
LARGE_PAGES = "glibc.malloc.hugetlb"


def prepare() -> None:
    """Start this program again with what its environment lacks. To be called before PyTorch is loaded."""
    missing = {name: value for name, value in wanted(os.environ).items() if os.environ.get(name) != value}
    if missing and sys.platform.startswith("linux"):
        os.environ.update(missing)
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def wanted(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables as they should be."""
    tunables = environment.get(TUNABLES, "")
    if LARGE_PAGES not in tunables:
        tunables = ":".join(filter(None, [tunables, f"{LARGE_PAGES}=1"]))
    return {PATIENCE: environment.get(PATIENCE, "passive"), TUNABLES: tunables}


def processor() -> str:
    """How many cores of which processor, and what of it matters to products of matrices."""
    found = Path("/proc/cpuinfo").read_text(encoding="utf-8") if Path("/proc/cpuinfo").is_file() else ""
    name = re.search(r"^model name\s*: (.+)$", found, re.M)
    flags = [flag for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if re.search(rf"\b{flag}\b", found)]
    model = " ".join((name[1] if name else platform.processor() or platform.machine()).split())
    return ", ".join([f"{os.cpu_count()} cores of {model}", *flags])
