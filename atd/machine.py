"""What a process of ours asks of the machine, before PyTorch is loaded: patient threads, and memory that it keeps.

**Patience.** A thread of OpenMP that waits for the others spins, so as not to lose a moment. On a machine that others
use as well it spins in the way of the thread it waits for: a training step took 37 ms on one thread, 80 to 600 on two.
Threads that sleep while they wait took 16.

**Memory.** A training step needs arrays as large as the vocabulary, frees them, and needs them again in the next step.
The C library of Linux gives such arrays back to the system and fetches new pages, which the kernel must fill with
zeros: of a step with 20,000 words that is a quarter of the time, with 128,000 words a third. It can be told not to.
Memory that the process shows is then what it needed at its peak.

Both hold for this process and those that it starts. What the environment says already is left as it is.
"""

from __future__ import annotations

import ctypes
import os
import sys

MEMORY = {"MALLOC_MMAP_MAX_": 0, "MALLOC_TRIM_THRESHOLD_": 2**62}  # for processes that will start
M_TRIM_THRESHOLD = -1  # for one that runs: malloc.h
M_MMAP_MAX = -4
NEVER = -1


def prepare() -> None:
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    keep_pages()


def keep_pages() -> bool:
    """False, and nothing changed, where the environment says otherwise or the C library is not glibc."""
    if not sys.platform.startswith("linux") or set(MEMORY) & set(os.environ):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    os.environ.update({name: str(value) for name, value in MEMORY.items()})
    return bool(mallopt(M_MMAP_MAX, 0)) and bool(mallopt(M_TRIM_THRESHOLD, NEVER))
