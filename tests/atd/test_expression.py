import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from atd.design import Column, Design
from atd.errors import AtdError
from atd.expression import parse
from atd.given import resolve

HOSTILE = ["-1", "1", "$x_$", "2*x", "x", " ", "  ", "a+b", "a", "b", "x[/red]y", "=", "a:b", "<script>", "a b", "a  b"]
HOSTILE += [
    "-",
    "+",
    "*",
    "0.5*a + 0.5*b",
    "a - b",
    "'a'",
    '"',
    "\\",
    "n" * 5000,
    "é",
    "E",
    "e",
    "−1",
    "\u202e",
    "a\nb",
]
ANY = st.lists(st.text("ab12-+*.=:$[]/<> ", min_size=1, max_size=5), min_size=1, max_size=8, unique=True)
TAME = st.lists(st.text("ab=:$[]/<>_#", min_size=1, max_size=6), min_size=2, max_size=8, unique=True)

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


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("-1 + 1", [1, 1, 0]),  # not minus `1`
        ("1 - -1", [1, -1, 0]),
        ("1 - 2*x", [1, 0, -1]),
        ("3*1 + 2*2*x", [3, 0, 2]),
        ("3 * 1", [3, 0, 0]),
    ],
)
def test_a_part_of_a_sum_that_is_a_name_is_that_name(text, weights):
    assert parse(text, ["1", "-1", "2*x"]).tolist() == weights


def test_a_number_before_a_star_is_a_factor_even_where_it_is_a_name():
    assert parse("2 * x", ["2", "x"]).tolist() == [0, 2]


@given(ANY)
@settings(deadline=None)
def test_every_exact_name_is_that_name(names):
    for i, name in enumerate(names):
        assert parse(name, names).tolist() == np.eye(len(names))[i].tolist()


@given(TAME, st.data())
@settings(deadline=None)
def test_sums_of_names_without_signs_are_exact(names, data):
    a, b = (data.draw(st.integers(0, len(names) - 1)) for _ in range(2))
    expected = np.zeros(len(names))
    np.add.at(expected, [a, b], [0.25, -4])
    assert parse(f"0.25*{names[a]} - 4*{names[b]}", names).tolist() == expected.tolist()


@given(st.text("ab12-+*.=: ", max_size=12), ANY)
@settings(deadline=None)
def test_any_text_is_a_mix_or_refused(text, names):
    try:
        assert parse(text, names).isfinite().all()
    except AtdError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize("columns", [1, 2])
def test_every_name_of_a_model_resolves_to_its_own_attribute(columns):
    """Of one column: its values. Of two: their tuples, which may look alike."""
    if columns == 1:
        design = Design.plain(HOSTILE)
    else:
        both = [Column(name, [*HOSTILE, "a/b", "b/c", "c"]) for name in ("$c_$", "kind=x")]
        codes = np.array([(i, j) for i in range(len(both[0].values)) for j in (4, 8, 16, 17, 18, 30, 31)])
        design = Design(both, [(0, 1)], [codes.astype(np.int32)])
    assert len(set(design.names)) == len(design.names)
    for i, name in enumerate(design.names):
        weights, shares = resolve(name, design)
        assert weights.tolist() == [1] and np.flatnonzero(shares[0]).tolist() == [i], name


def test_a_value_of_a_column_can_be_said_with_its_column():
    design = Design(
        [Column("a", HOSTILE), Column("b", ["1", "-1"])], [(0,), (1,)], [np.arange(n)[:, None] for n in (31, 2)]
    )
    for i, value in enumerate(HOSTILE):
        _, shares = resolve(f"a={value}", design)
        assert shares[0][i] == 1 and shares[0][:31].sum() == 1
        assert (resolve({"a": value}, design)[1] == shares).all()


def test_a_value_of_two_columns_is_never_the_negative_of_another():
    design = Design(
        [Column(c, v) for c, v in {"a": ["-1", "1"], "b": ["-1", "2"]}.items()],
        [(0,), (1,)],
        [np.eye(2)[:, :1].astype(int)] * 2,
    )
    with pytest.raises(AtdError, match="'-1' is a value of a and b; say which, such as a=-1"):
        resolve("-1", design)


def test_tuples_that_would_have_one_name_have_two():
    columns = [Column("x", ["a", "a/b"]), Column("y", ["b/c", "c"])]
    design = Design(columns, [(0, 1)], [np.array([[0, 0], [1, 1], [0, 1]], np.int32)])
    assert design.names == ["x=a/y=b/c", "x=a/b/y=c", "a/c"]


def test_knots_that_print_alike_have_names_of_their_own():
    column = Column.of_numbers("year", [1000000.1, 1000000.2, 1000000.3], knots=3)
    assert len(set(column.values)) == 3
