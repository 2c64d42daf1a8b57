from tests.faults.fault import Effort, nothing_lost
from tests.faults.settings import faults


def test_what_is_typed_is_accepted_or_refused_in_one_line():
    assert list(nothing_lost(faults(Effort(quick=True)))) == []
