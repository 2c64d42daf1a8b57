import json

from tests.faults.determinism import difference, faults
from tests.faults.fault import Effort, nothing_lost


def test_the_same_seed_gives_the_same_rows():
    assert list(nothing_lost(faults(Effort(quick=True)))) == []


def test_a_difference_in_the_last_bit_is_seen(tmp_path):
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    a.write_text(json.dumps({"seconds": 1.0, "rows": {"atd": {"perplexity": 0.3}}}))
    b.write_text(json.dumps({"seconds": 2.0, "rows": {"atd": {"perplexity": 0.1 + 0.2}}}))
    assert difference(a, a) == "" and "perplexity 0.3 → 0.30000000000000004" in difference(a, b)
