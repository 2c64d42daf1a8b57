import pytest
import torch

from atd.errors import AtdError
from atd.expression import parse

NAMES = ["bible-kjv", "shakespeare-caesar", "m/30/arts", "f/20/arts", "f/20/arts-sci", "30", "a+b"]


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("bible-kjv", [1, 0, 0, 0, 0, 0, 0]),
        ("0.5*bible-kjv + 0.5*shakespeare-caesar", [0.5, 0.5, 0, 0, 0, 0, 0]),
        ("  .25 × bible-kjv+0.75·shakespeare-caesar ", [0.25, 0.75, 0, 0, 0, 0, 0]),
        ("m/30/arts - f/20/arts + f/20/arts-sci", [0, 0, 1, -1, 1, 0, 0]),
        ("-2*30 + 3*30", [0, 0, 0, 0, 0, 1, 0]),
        ("a+b+a+b", [0, 0, 0, 0, 0, 0, 2]),
    ],
)
def test_parse(text, weights):
    assert torch.equal(parse(text, NAMES), torch.tensor(weights, dtype=torch.float))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.5*bible-kvj + 30", "no attribute is called 'bible-kvj'; did you mean bible-kjv"),
        ("bible-kjv shakespeare-caesar", "expected \\+ or - before 'shakespeare-caesar'"),
        ("   ", "empty"),
        ("bible-kjv +", "no attribute is called ''"),
        ("caesar", "did you mean shakespeare-caesar"),
    ],
)
def test_a_wrong_mix_says_what_to_do(text, message):
    with pytest.raises(AtdError, match=message):
        parse(text, NAMES)


@pytest.mark.parametrize("name", ["-1", "2*x", "+", " ", "a - b", "0.5*a + 0.5*b"])
def test_a_text_that_is_a_name_is_that_name(name):
    names = ["1", "x", "a", "b", name]
    assert parse(name, names).tolist() == [0, 0, 0, 0, 1]
