"""Damaged files of every form, a few of each."""

from __future__ import annotations

from tests.faults.fault import Effort, nothing_lost
from tests.faults.readers import faults


def test_no_damaged_file_gives_more_than_one_clean_line():
    assert list(nothing_lost(faults(Effort(quick=True)))) == []
