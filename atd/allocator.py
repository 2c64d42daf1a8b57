"""Memory that is freed stays with the process.

A training step needs arrays as large as the vocabulary, frees them, and needs them again in the next step. The C
library of Linux gives such arrays back to the system and fetches new pages, which the kernel must fill with zeros: of a
step with 20,000 words that is a quarter of the time, with 128,000 words a third. `keep_pages` tells the C library not
to. Memory that a process shows is then what it needed at its peak.
"""

from __future__ import annotations

import ctypes
import os
import sys

NAMES = {"MALLOC_MMAP_MAX_": 0, "MALLOC_TRIM_THRESHOLD_": 2**62}  # as processes are told before they start
M_TRIM_THRESHOLD = -1  # and while they run: malloc.h
M_MMAP_MAX = -4
NEVER = -1


def keep_pages() -> bool:
    """For this process and those that it will start.

    False, and nothing changed, where the environment says otherwise (the two names above) or the C library is another.
    """
    if not sys.platform.startswith("linux") or set(NAMES) & set(os.environ):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    os.environ.update({name: str(value) for name, value in NAMES.items()})
    return bool(mallopt(M_MMAP_MAX, 0)) and bool(mallopt(M_TRIM_THRESHOLD, NEVER))
