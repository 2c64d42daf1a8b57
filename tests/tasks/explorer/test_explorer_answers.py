"""The explorer's answers about attributes: descriptions, maps, mixes and the search."""

import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from atd.design import Column, Design
from atd.given import resolve
from tests.tasks.explorer.composed import write_composed
from tests.tasks.tiny_model import NAMES


def test_models_are_described(client):
    assert client.get("/api/models").json() == [{"name": "tour/one", "words": 27, "attributes": len(NAMES)}]
    about = client.get("/api/models/0").json()
    assert [a["name"] for a in about["attributes"]] == NAMES
    assert [view["name"] for view in about["views"]] == ["all"] and len(about["views"][0]["points"]) == len(NAMES)
    assert client.get("/api/models/7").status_code == 404


def test_generation_follows_the_mix_and_the_seed(client):
    def ask(mix, seed=0, **more):
        body = {"mix": mix, "words": 30, "seed": seed, **more}
        return client.post("/api/models/0/generate", json=body).json()

    one, two = [{"name": NAMES[0], "weight": 1}], [{"name": NAMES[2], "weight": 1}]
    assert ask(one) == ask(one)
    assert ask(one)["samples"] != ask(one, seed=1)["samples"] and ask(one)["samples"] != ask(two)["samples"]
    assert ask(one)["nearest"][0][0] == NAMES[0]
    assert ask(one, start="the Lord qqq")["unknown"] == ["qqq"]


def test_a_given_vector_is_the_attribute_it_equals(client, engine):
    vector = engine.x_AD[1].tolist()
    answers = [
        client.post("/api/models/0/generate", json={"mix": [part], "words": 20}).json()
        for part in ({"vector": vector, "weight": 1}, {"name": NAMES[1], "weight": 1})
    ]
    assert answers[0] == answers[1]
    np.testing.assert_allclose(answers[0]["places"][0], engine.views[0].points[1], atol=1e-4)


def test_the_views_are_all_attributes_and_each_term(composed_engine):
    about = composed_engine.describe()
    assert [(view["name"], view["ids"]) for view in about["views"]] == [
        ("all", [0, 1, 2, 3, 4]),
        ("age", [0, 1]),
        ("gender", [2, 3, 4]),
    ]
    assert [a["values"] for a in about["attributes"]] == [[0, -1], [1, -1], [-1, 0], [-1, 1], [-1, 2]]
    assert [a["words"] for a in about["attributes"]] == [100, 200, 300, 400, 500]


def test_a_lone_value_is_the_base_profile_with_that_value(ask, composed_engine):
    base = {"gender": "male", "age": ""}
    lone = ask("generate", mix=[{"name": "age=20s", "weight": 1}], base=base)
    profile = ask("generate", mix=[{"profile": {"gender": "male", "age": "20s"}, "weight": 1}])
    assert lone == profile
    assert lone["samples"] != ask("generate", mix=[{"name": "age=20s", "weight": 1}])["samples"]
    x = composed_engine.vector([{"name": "age=20s", "weight": 1}], {"gender": "male"})
    torch.testing.assert_close(x, composed_engine.trained.x({"age": "20s", "gender": "male"}))
    torch.testing.assert_close(
        composed_engine.vector([{"base": True, "weight": 1}], {}), composed_engine.trained.x(None)
    )


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("gender:female", ["gender=female"]),
        ("GENDER=", ["gender=<b>x</b>", "gender=male", "gender=female"]),
        ("30-39", ["age=30–39"]),
        ("<b>", ["gender=<b>x</b>"]),
        ("male", ["gender=male", "gender=female"]),
        ("nobody", []),
    ],
)
def test_search_finds_attributes_as_they_are_typed(ask, composed_engine, written, names):
    assert [composed_engine.names[a] for a in ask("find", text=written)["matches"]] == names


def test_search_finds_words_and_sums(ask, composed_engine):
    assert ask("find", text="li")["words"] == ["light", "lights"]
    found = ask("find", text="0.5*20s - gender:male")
    assert {"profile": {"age": "20s"}, "weight": 0.5} in found["mix"]
    assert {"profile": {"gender": "male"}, "weight": -1.0} in found["mix"] and len(found["mix"]) == 2
    assert "no attribute is called" in ask("find", text="qqqq")["note"]
    assert ask("find", text=" ") == {"matches": [], "words": [], "mix": [], "note": ""}


def test_a_number_between_knots_is_found_and_used(composed_engine):
    from tasks.explore.profiles import Profiles

    columns = [Column("age", ["20", "30"], [20.0, 30.0]), composed_engine.trained.design.columns[1]]
    profiles = Profiles(
        replace(composed_engine.trained, design=replace(composed_engine.trained.design, columns=columns))
    )
    assert profiles.find({"text": "age:22.5"})["mix"] == [{"profile": {"age": "22.5"}, "weight": 1.0}]
    x_20, x_30 = (profiles.x({"age": age}, {}) for age in ("20", "30"))
    torch.testing.assert_close(profiles.x({"age": "22.5"}, {}), 0.75 * x_20 + 0.25 * x_30)


def test_the_average_text_is_near_no_attribute(ask):
    nearest = ask("generate", mix=[{"base": True, "weight": 1}])["nearest"]
    assert max(abs(cosine) for _, cosine in nearest) == 0


def test_search_in_tuples_finds_all_that_have_the_value(tmp_path):
    from tasks.explore import opened

    engine = opened(write_composed(tmp_path / "tour" / "tuples", terms=((0, 1),)))
    found = [engine.names[a] for a in engine.find({"text": "gender:female"})["matches"]]
    assert found == ["30–39/female", "20s/female"]  # the one with more text first
    mixed = engine.vector([{"name": "gender:female", "weight": 2}], {"age": "20s"})
    torch.testing.assert_close(mixed, 2 * engine.trained.x("20s/female"))


def test_a_profile_that_never_occurs_is_refused(tmp_path):
    from atd.errors import AtdError
    from tasks.explore import opened

    engine = opened(write_composed(tmp_path / "tour" / "tuples", terms=((0, 1),)))
    design = engine.trained.design
    design.combinations[0] = design.combinations[0][:-1]
    engine.profiles.design = Design(design.columns, design.terms, design.combinations, design.words_A[:-1])
    _, shares = resolve({"age": "30–39", "gender": "<b>x</b>"}, engine.profiles.design)
    assert not shares.any()
    with pytest.raises(AtdError, match="no training text has age=30–39 and gender=<b>x</b>"):
        engine.profiles.of({"age": "30–39", "gender": "<b>x</b>"})


def test_thousands_of_attributes_have_a_map_in_a_moment():
    from tasks.explore import views

    draw = np.random.default_rng(0)
    group_A = draw.integers(0, 20, 5000)
    x_AD = draw.normal(size=(20, 30))[group_A] + 0.5 * draw.normal(size=(5000, 30))
    unit_AD = (x_AD / np.linalg.norm(x_AD, axis=1, keepdims=True)).astype(np.float32)
    words_A = draw.permutation(5000)
    views.points_of(unit_AD[:50], words_A[:50])  # imports
    started = time.process_time()
    points = views.points_of(unit_AD, words_A)
    assert time.process_time() - started < 4  # all of them in t-SNE take three times as long
    assert (points == views.points_of(unit_AD, words_A)).all()
    some = draw.integers(0, 5000, 200)
    gap = np.square(points[some, None] - points).sum(2)
    assert (group_A[np.argsort(gap)[:, 1:6]] == group_A[some, None]).mean() > 0.95  # near means alike


def test_what_has_most_text_is_spread_out(monkeypatch):
    from tasks.explore import views

    monkeypatch.setattr(views, "SPREAD", 60)
    x_AD = np.random.default_rng(0).normal(size=(90, 5)).astype(np.float32)
    unit_AD = x_AD / np.linalg.norm(x_AD, axis=1, keepdims=True)
    points = views.points_of(unit_AD, np.arange(90))
    np.testing.assert_array_equal(points[:29:-1], views.spread_out(unit_AD[:29:-1]))
    np.testing.assert_allclose(points[:30], views.amid(unit_AD[:30], unit_AD[30:], points[30:]), rtol=1e-4)


def test_a_temperature_next_to_nothing_takes_the_likeliest_words(client):
    def samples(temperature):
        body = {"mix": [{"name": NAMES[0], "weight": 1}], "temperature": temperature}
        return client.post("/api/models/0/generate", json=body).json()["samples"]

    assert samples(0) == samples(1e-18) == samples(1e-39) == samples(1e-300) != samples(1)
