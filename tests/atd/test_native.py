"""Kernels in C: made when needed, kept for the next process, and never needed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from atd import native
from atd.errors import AtdError

DOUBLE = b"void twice(double *x, long first, long last) { for (long i = first; i < last; i++) x[i] *= 2; }"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "atd" / "native"


def test_a_source_is_compiled_once_and_again_when_it_changes(tmp_path, folder):
    source = tmp_path / "twice.c"
    source.write_bytes(DOUBLE)
    first = native._compiled(source)
    made = first.stat().st_mtime_ns
    assert native._compiled(source) == first and first.stat().st_mtime_ns == made
    source.write_bytes(DOUBLE.replace(b"2", b"3"))
    assert native._compiled(source) != first
    assert len(list(folder.iterdir())) == 2  # and no parts


def test_parts_cover_everything_once(tmp_path, folder):
    source = tmp_path / "twice.c"
    source.write_bytes(DOUBLE)
    library = native.ctypes.CDLL(str(native._compiled(source)))
    x = np.arange(1001.0)
    long = native.ctypes.c_long
    for threads in (1, 2, 5):
        native.in_parts(len(x), lambda i, j: library.twice(native.address(x), long(i), long(j)), threads)
    assert np.array_equal(x, 8 * np.arange(1001.0))


def test_a_folder_that_others_may_write_to_is_refused(folder):
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    with pytest.raises(AtdError, match="chmod 700"):
        native._folder()


@pytest.mark.parametrize("without", [{"CC": "no-such-compiler"}, {"ATD_NATIVE": "0"}])
def test_without_a_compiler_there_is_no_kernel(tmp_path, without):
    sources = [path.stem for path in Path(native.__file__).parent.glob("*.c")]
    script = f"from atd import native; assert all(native.kernel(name) is None for name in {sources!r})"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), **without}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment)


def test_every_kernel_compiles_without_warnings():
    for path in Path(native.__file__).parent.glob("*.c"):
        command = ["cc", "-Wall", "-Wextra", "-Werror", *native.FLAGS, "-o", os.devnull, str(path), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
