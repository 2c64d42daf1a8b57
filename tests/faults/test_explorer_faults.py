"""The explorer loses nothing under load, slow clients and hostile requests: a small part of `make faults`."""

import pytest

from tests.faults.fault import Effort, nothing_lost

pytest.importorskip("starlette")


def test_the_explorer_loses_nothing():
    from tests.faults.explorer import faults

    assert list(nothing_lost(faults(Effort(quick=True)))) == []
