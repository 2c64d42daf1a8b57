"""The verdict of the tour: what its sentences say follows from the differences."""

from __future__ import annotations

from tasks.learning.controls import Difference
from tasks.attributes.verdict import sentences


def test_a_sentence_says_higher_lower_or_neither():
    found = {
        "lbl": Difference(-2.0, -3.0, -1.0),
        "no-attributes": Difference(4.04, 3.0, 5.0),
        "additive": Difference(0.2, -0.1, 0.5),
        "random-gate": Difference(9.0, 8.0, 10.0),
    }
    assert sentences(found) == [
        "Without attributes perplexity is 4.0 % higher (95 % interval +3.0 to +5.0).",
        "With attributes that only add, without the gate, perplexity is not certainly another (+0.2 %, 95 % interval "
        "-0.1 to +0.5).",
        "In the log-bilinear model of the same size perplexity is 2.0 % lower (95 % interval -3.0 to -1.0).",
    ]
