"""The quick part of what is done to runs: kills, disks and damaged files, by forks of this process."""

from __future__ import annotations

from importlib import import_module

import pytest

from tests.faults.__main__ import main
from tests.faults.fault import Effort, nothing_lost


@pytest.mark.parametrize("family", ["kills", "disks", "damage"])
def test_nothing_is_lost(family):
    faults = import_module(f"tests.faults.{family}").faults(Effort(quick=True))
    assert list(nothing_lost(faults)) == []


def test_the_command_tries_every_family_in_a_process_of_its_own(monkeypatch, capsys):
    """Damaged files of every form, a few of each, and checkpoints from anywhere: both are quickly imported."""
    monkeypatch.setattr("sys.argv", ["faults", "readers", "checkpoints", "--quick"])
    assert main() == 0
    said = capsys.readouterr().out
    assert "0 lost something" in said and "readers" in said and "a program in place of a value" in said
