"""Small files that cost much, those that are quickly made."""

from __future__ import annotations

from tests.faults.bombs import faults
from tests.faults.fault import Effort, nothing_lost


def test_every_bomb_is_refused_or_read_within_limits():
    assert list(nothing_lost(faults(Effort(quick=True)))) == []
