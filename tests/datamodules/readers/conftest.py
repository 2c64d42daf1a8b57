"""What the reader tests share: fresh folders, ways to write a file plain or packed, and to expect one clear line.

All of session scope: Hypothesis calls a test many times within one function scope.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from atd.errors import AtdError


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A new empty folder at every call."""
    return lambda: tmp_path_factory.mktemp("data")


@pytest.fixture(scope="session")
def write():
    """Write a file, its folders too; packed adds .gz."""

    def write(path: Path, data: bytes | str, packed: bool = False) -> Path:
        data = data.encode() if isinstance(data, str) else data
        path = path.with_name(path.name + ".gz") if packed else path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(data, 1) if packed else data)
        return path

    return write


@pytest.fixture(scope="session")
def write_zip():
    def write(path: Path, files: dict[str, bytes | str]) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        return path

    return write


@pytest.fixture(scope="session")
def write_tgz():
    def write(path: Path, files: dict[str, bytes | str]) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(path, "w:gz") as archive:
            for name, data in files.items():
                data = data.encode() if isinstance(data, str) else data
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        return path

    return write


@pytest.fixture(scope="session")
def one_line():
    """`with one_line("file.txt line 3", …)`: the block must raise one AtdError line that holds every part."""

    @contextmanager
    def expect(*parts: str):
        with pytest.raises(AtdError) as caught:
            yield
        message = str(caught.value)
        assert "\n" not in message
        for part in parts:
            assert part in message, message

    return expect
