"""The general task: what it says follows from the numbers, and what a column adds is what only it tells."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from atd.design import Column, Design
from atd.encoded import EncodedCorpus
from atd.models import build
from atd.ragged import offsets_of
from atd.vocabulary import Vocabulary
from tasks.attributes.columns import guessed_vectors, indicators, leavings
from tasks.attributes.effects import columns_of_numbers, rate
from tasks.attributes.show import chosen_pair
from tasks.attributes.verdict import lower, sentences, verdict
from tasks.attributes.words import distinctive
from tasks.learning.controls import Difference, paired_difference


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


def test_the_verdict_is_a_sentence_for_laymen():
    above = {"lbl": Difference(9.0, 8.0, 10.0), "no-attributes": Difference(2.0, 1.5, 2.5)}
    adds = {
        "year": Difference(0.5, 0.2, 0.8),
        "party": Difference(1.2, 1.0, 1.4),
        "nationality": Difference(0.1, -0.1, 0.3),
    }
    assert verdict(["party", "year", "nationality"], above, adds) == (
        "Knowing party, year and nationality makes held-out text 2.0 % [1.5, 2.4] more predictable. What each adds to "
        "the others: party 1.2 % [1.0, 1.4] and year 0.5 % [0.2, 0.8]. Nationality adds nothing. In brackets: 95 % "
        "intervals."
    )
    assert "neither more nor less" in verdict(["book"], {"lbl": Difference(0.1, -0.2, 0.4)}, {})
    assert "(0.0 % [-0.6, 0.5])" in verdict(["book"], {"lbl": Difference(-0.01, -0.6, 0.5)}, {})
    assert "1.0 % [0.5, 1.5] LESS predictable" in verdict(["book"], {"lbl": Difference(-0.99, -1.48, -0.5)}, {})


def test_lower_is_the_way_back_from_above():
    assert lower(Difference(25.0, 0.0, 100.0)) == Difference(20.0, 0.0, 50.0)


def test_groups_are_drawn_together():
    random = np.random.default_rng(0)
    group = np.repeat(np.arange(20), 50)
    shift = random.normal(0, 1, 20)[group]  # documents of a group go together
    words = np.full(1000, 10.0)
    reference = np.full((1, 1000), 50.0)
    alone = paired_difference(reference + shift, reference, words)
    grouped = paired_difference(reference + shift, reference, words, group)
    assert grouped.percent == pytest.approx(alone.percent)
    assert grouped.high - grouped.low > 3 * (alone.high - alone.low)


def table(copies: bool, n: int = 400) -> EncodedCorpus:
    """Documents with a party and a colour; the colour may follow from the party."""
    random = np.random.default_rng(0)
    party = random.integers(0, 3, n)
    colour = party.copy() if copies else random.integers(0, 3, n)
    columns = [Column("party", ["a", "b", "c"]), Column("colour", ["r", "g", "y"])]
    codes = [(v[:, None].astype(np.int32), np.ones((n, 1), np.float32)) for v in (party, colour)]
    design = Design.of(columns, [(0,), (1,)], codes)
    attributes, _ = design.encode(codes)
    meta = {
        "vocabulary": Vocabulary.from_counts({"a": 3}).state(),
        "attributes": design.names,
        "design": design.state(),
    }
    return EncodedCorpus(np.zeros(5 * n, np.int32), offsets_of([5] * n), attributes, meta=meta)


@pytest.mark.parametrize("copies", [True, False])
def test_a_column_that_follows_from_another_is_guessed(copies):
    texts = table(copies)
    config = {"name": "atd", "K": 8, "F": 8, "D": 4, "context": 2, "dropout": 0.0, "sparse": False}
    torch.manual_seed(0)
    model = build(config | {"gated": True, "additive": True, "shrink": False, "free": 0}, [10], 6)
    model.attributes.centre(torch.from_numpy(texts.design.words_A), torch.from_numpy(texts.design.term_A))
    data = SimpleNamespace(encoded={"train": texts, "test": texts})
    without = {left.name: guessed_vectors(model, data, left) for left in leavings(texts.design)}
    with torch.no_grad():
        whole = model.attributes(torch.from_numpy(texts.attributes.astype(np.int64))).numpy()
    assert list(without) == ["party", "colour"]
    for guess in without.values():
        distance = np.abs(guess - whole).max()
        assert distance < 1e-3 if copies else distance > 0.02


def test_leaving_out_a_column_leaves_the_rest_of_its_interactions():
    texts = table(copies=False)
    design = replace(texts.design, terms=[(0,), (1,), (0, 1)], combinations=[*texts.design.combinations, np.eye(2)])
    kept = {left.name: left.kept for left in leavings(design)}
    assert kept["party"] == [(1, (0,))] and kept["colour"] == [(0, (0,))]
    assert kept["the interaction of party and colour"] == [(0, (0,)), (1, (0,))]
    assert indicators(texts, texts.design, [(0, (0,))]).sum() == len(texts)
    assert indicators(texts, texts.design, []).shape == (len(texts), 0)


def test_distinctive_words_are_in_many_documents_of_the_value():
    own, rest = np.full(40, 50), np.full(40, 50)
    own[20], rest[20] = 60, 5  # typical
    own[30], rest[30] = 3, 0  # of three documents only
    assert distinctive(own, rest).tolist() == [20]


def test_numbers_between_knots_are_read_back():
    number_n = np.array([1990.0, 1996.5, 2003, 2010, 2020, np.nan] * 5)
    column = Column.of_numbers("year", number_n, 3)
    codes = [column.encode(number_n)]
    design = Design.of([column], [(0,)], codes)
    attributes, shares = design.encode(codes)
    n = len(number_n)
    offsets = np.arange(n + 1)
    texts = EncodedCorpus(np.zeros(n, np.int32), offsets, attributes, shares=shares)
    (found,) = columns_of_numbers(texts, SimpleNamespace(design=design))
    assert found.name == "year" and found.is_number
    np.testing.assert_allclose(found.value_n, number_n, rtol=1e-5)


def test_the_pair_shown_is_of_a_column_that_adds_something():
    """The column with most values, unless it is known to add nothing and another adds something."""
    design = SimpleNamespace(
        term_A=np.array([0, 0, 1, 1, 1]),
        terms=((0,), (1,)),
        columns=(SimpleNamespace(name="age"), SimpleNamespace(name="industry")),
        words_A=np.array([]),
    )
    x_AD = torch.from_numpy(np.random.default_rng(0).normal(size=(5, 4)))
    model = SimpleNamespace(vectors=lambda: x_AD)
    trained = SimpleNamespace(design=design, attributes=["10s", "20s", "arts", "law", "law2"], model=model)
    task = SimpleNamespace(a=None, b=None)
    assert set(chosen_pair(task, trained)) <= {"arts", "law", "law2"}
    assert set(chosen_pair(task, trained, ["industry"])) == {"10s", "20s"}
    assert set(chosen_pair(task, trained, ["industry", "age"])) <= {"arts", "law", "law2"}


def test_a_small_rate_has_even_digits():
    assert [rate(q) for q in (5e-8, 0.0001, 0.04731)] == ["< 0.0001", "0.0001", "0.0473"]
