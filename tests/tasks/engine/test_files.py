"""A folder belongs to one run at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from atd.errors import AtdError
from tasks.engine.files import forget, own_folder

ROOT = Path(__file__).parents[3]
OTHER = "import sys; from pathlib import Path; from tasks.engine.files import own_folder\n"
OTHER += "with own_folder(Path(sys.argv[1])) as own: print(own.name)"


def other(folder: Path) -> str:
    """The folder that another process gets."""
    done = subprocess.run([sys.executable, "-c", OTHER, str(folder)], cwd=ROOT, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return done.stdout.strip()


def test_two_runs_of_one_second_have_a_folder_each(tmp_path):
    folder = tmp_path / "attributes" / "12-00-00"
    with own_folder(folder) as own:
        assert own == folder and folder.is_dir()
        assert other(folder) == "12-00-00-2"
        with own_folder(folder) as third:
            assert third.name == "12-00-00-2", "the one that ended is free again"
    assert other(folder) == "12-00-00"


def test_what_is_running_is_not_resumed(tmp_path):
    with own_folder(tmp_path), pytest.raises(AtdError, match="a run is going on there"), own_folder(tmp_path, True):
        pass


def test_a_run_that_failed_leaves_no_folder_of_its_own_making(tmp_path, monkeypatch):
    """Neither outputs/<task>/<time> nor what it had to make for it; nothing that others use, and never where one is."""
    run = tmp_path / "outputs" / "attributes" / "12-00-00"
    run.mkdir(parents=True)
    (run / "config.yaml").touch()
    (tmp_path / "reviews.csv").touch()
    forget(run)
    assert [path.name for path in tmp_path.iterdir()] == ["reviews.csv"]
    here = tmp_path / "here"
    (here / "run").mkdir(parents=True)
    monkeypatch.chdir(here)
    forget(here / "run")
    assert here.is_dir() and not list(here.iterdir())
