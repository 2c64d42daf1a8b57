"""Small kernels in C, for loops that neither PyTorch nor NumPy has at full speed.

Every kernel has a twin in Python: the reference that tests compare it with, and what runs where there is no compiler.
A kernel is one file of C beside this one. The compiler of the machine (`cc`, or what `CC` names) makes a library of it
when it is first needed, which takes a second, and leaves it in the user's cache. Kernels know no threads: Python's
threads call them for parts of the work (`in_parts`), and ctypes lets other threads run meanwhile.

`ATD_NATIVE=0` in the environment leaves them out.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from atd.errors import AtdError

FLAGS = ["-O3", "-march=native", "-std=c11", "-fPIC", "-shared", "-fopenmp-simd"]
FLAGS += ["-fno-math-errno", "-fno-trapping-math"]
PATIENCE = 120  # seconds that a compiler may take


@cache
def kernel(name: str) -> ctypes.CDLL | None:
    """The library made of `name`.c; None where it cannot be made, and then the twin in Python does the work."""
    if os.environ.get("ATD_NATIVE") == "0" or os.name != "posix":
        return None
    source = Path(__file__).with_name(f"{name}.c")
    try:
        return ctypes.CDLL(str(_compiled(source)))
    except (AtdError, OSError, subprocess.SubprocessError):
        return None


def address(array: Any) -> ctypes.c_void_p:
    """Where the numbers of a NumPy array or a tensor lie. They must lie row after row, without gaps."""
    if hasattr(array, "data_ptr"):
        assert array.is_contiguous() and array.device.type == "cpu"
        return ctypes.c_void_p(array.data_ptr())
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)


def in_parts(n: int, work: Callable[[int, int], None], threads: int, least: int = 1) -> None:
    """Call `work(first, last)` for consecutive ranges that together are 0…n, side by side on so many threads.

    No range is shorter than `least`: below that a thread costs more than it brings.
    """
    parts = max(min(threads, n // max(least, 1)), 1)
    bounds = [n * i // parts for i in range(parts + 1)]
    if parts == 1:
        work(0, n)
    else:
        list(_pool(parts).map(work, bounds[:-1], bounds[1:]))


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    pool = ThreadPoolExecutor(threads, thread_name_prefix="atd-native")
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a fork has no threads but its own
    return pool


def _compiled(source: Path) -> Path:
    """The shared library of a source, named by all that made it."""
    code = source.read_bytes()
    compiler = shlex.split(os.environ.get("CC", "cc"))
    version = subprocess.run([*compiler, "--version"], capture_output=True, check=True, timeout=PATIENCE).stdout
    made_of = hashlib.sha256(b"\0".join([code, " ".join(FLAGS).encode(), version, _processor()])).hexdigest()[:16]
    library = _folder() / f"{source.stem}-{made_of}.so"
    if not library.is_file():
        part = library.with_suffix(f".{os.getpid()}")  # other processes may be at it, too
        try:
            command = [*compiler, *FLAGS, "-o", str(part), str(source), "-lm"]
            subprocess.run(command, capture_output=True, check=True, timeout=PATIENCE)
            part.replace(library)
        finally:
            part.unlink(missing_ok=True)
    return library


def _folder() -> Path:
    """A folder of the user's own: nobody else may put a library there."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = home / "atd" / "native"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if folder.stat().st_uid != os.getuid() or folder.stat().st_mode & 0o022:
        raise AtdError(f"{folder}: others may write there; run chmod 700 {folder}")
    return folder


def _processor() -> bytes:
    """What `-march=native` depends on: a home folder may be shared by machines that differ."""
    lines = Path("/proc/cpuinfo").read_bytes().splitlines() if Path("/proc/cpuinfo").is_file() else []
    flags = [line for line in lines if line.startswith((b"flags", b"Features"))]
    return platform.machine().encode() + b"".join(flags[:1])
