"""Shared fixtures. Tests on the real corpora run when ATD_DATA names their folder, and say so when skipped."""

from __future__ import annotations

import gc
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # several test processes share few cores

import pytest
import torch

from tests.places import write_places

torch.set_num_threads(1)


def pytest_collection_finish() -> None:
    """What the libraries hold is no garbage: every look through it would take a quarter of a second."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real corpora, or a skip that says how to provide it."""
    folder = os.environ.get("ATD_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("set ATD_DATA to a folder of real corpora to run this test")
    return Path(folder)


@pytest.fixture(scope="session")
def places(tmp_path_factory) -> list[str]:
    """Settings for a corpus of 300 lines about two places, which trains in no time."""
    path = write_places(tmp_path_factory.mktemp("table") / "places.csv", 300)
    return ["data=table", f"data.path={path}", "data.text=text", "data.attributes=[place]", "data.min_count=1"]


@pytest.fixture(scope="session")
def cache(tmp_path_factory) -> Path:
    """A folder for the corpora that all tests share, in every worker: each is named by all that made it."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "cache"
    folder.mkdir(exist_ok=True)
    return folder
