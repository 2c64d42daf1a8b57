"""The explorer's lists of words: neighbours under two values, and words that differ between values or along numbers."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from atd.design import Column, Design
from atd.encoded import EncodedCorpus
from atd.neighbours import compare
from atd.vocabulary import Vocabulary
from tasks.engine.result import Result
from tasks.explore.differences import read
from tests.tasks.tiny_model import NAMES


def test_neighbours_are_those_of_compare(client, engine):
    body = {"word": "Light", "a": NAMES[0], "b": NAMES[1], "k": 5}
    answer = client.post("/api/models/0/neighbours", json=body).json()
    with torch.no_grad():
        near = compare(engine.model, engine.vocabulary.id("light"), *engine.x_AD[:2], k=5, exclude=range(3))
    assert [n["word"] for n in answer["a"]] == engine.vocabulary.decode(near.near_a)
    assert [n["other_rank"] for n in answer["b"]] == near.rank_in_a
    assert answer["common"] == engine.vocabulary.decode(near.common)


def test_an_unknown_word_is_said_to_be_and_near_spellings_offered(client):
    answer = client.post("/api/models/0/neighbours", json={"word": "lihgt", "a": NAMES[0], "b": NAMES[1]})
    assert answer.status_code == 400
    assert "does not know the word “lihgt”" in answer.json()["error"] and "light" in answer.json()["suggestions"]


def test_neighbours_follow_the_base_profile(ask, composed_engine):
    pair = {"word": "light", "a": "gender:FEMALE", "b": "", "k": 4}
    near = ask("neighbours", **pair, base={"age": "30-39"})
    x_a, x_b = (composed_engine.trained.x({"age": "30–39", **more}) for more in ({"gender": "female"}, {}))
    with torch.no_grad():
        found = compare(composed_engine.model, composed_engine.vocabulary.id("light"), x_a, x_b, k=4, exclude=range(3))
    assert [n["word"] for n in near["a"]] == composed_engine.vocabulary.decode(found.near_a)
    assert [n["word"] for n in near["b"]] == composed_engine.vocabulary.decode(found.near_b)


def test_words_that_differ_come_with_intervals_from_the_run(ask, composed_engine):
    described = {"name": "gender", "values": ["female", "male"], "number": False, "words": 2}
    assert composed_engine.describe()["effects"] == [described]
    found = ask("differ", entry=0)
    assert found["kind"] == "effects" and found["total"] == 2
    assert [w["word"] for w in found["words"]] == ["<i>sea</i>", "ship"]  # what surely differs first
    assert found["words"][0]["documents"] == [9, 7]
    assert "give a number" in ask("differ", entry=1)["error"]


def test_without_a_file_words_are_ranked_by_their_neighbours(client, engine):
    found = client.post("/api/models/0/differ", json={"a": NAMES[0], "b": NAMES[1]}).json()
    assert found["kind"] == "shift" and "no effects.json" in found["note"]
    shifts = [w["shift"] for w in found["words"]]
    assert shifts == sorted(shifts, reverse=True) and shifts[0] > 0 and found["least"] >= 20
    assert not {".", ",", ";"} & {w["word"] for w in found["words"]}
    same = client.post("/api/models/0/differ", json={"a": NAMES[0], "b": NAMES[0]}).json()
    assert same["error"] == "choose two different values"


@pytest.mark.parametrize("broken", ["{", "[]", '{"columns": [{}]}', '{"columns": [{"name": "x", "words": [5]}]}'])
def test_a_broken_file_of_effects_is_said_to_be(tmp_path, broken):
    (tmp_path / "effects.json").write_text(broken)
    assert read(tmp_path) == ([], "effects.json in the run folder is not of the form that is read here.")


def test_what_is_no_number_or_no_word_is_left_out(tmp_path):
    word = {"effect": 0.1, "low": 0.0, "high": 0.3, "p": 0.4, "q": None}
    words = [{"word": "ship", **word}, {"word": "<unk>", **word}, {"word": "sea", **word, "high": float("inf")}]
    (tmp_path / "effects.json").write_text(json.dumps({"columns": [{"name": "x", "values": ["a"], "words": words}]}))
    ((column,), _) = read(tmp_path)
    assert column["words"] == [{"word": "ship", **word, "documents": []}]


def test_words_that_change_along_a_number_come_with_intervals(years_engine):
    described = {"name": "year", "values": ["low", "high"], "number": True, "words": 2}
    assert years_engine.describe()["effects"][1] == described
    found = years_engine.differ({"entry": 1})
    assert found["number"] and found["total"] == 2
    whale, king = found["words"]
    assert (whale["word"], whale["low"], whale["high"], whale["documents"]) == ("whale", 0.2, 0.5, [1234])
    assert king["word"] == "king"


def test_words_between_two_numbers_are_ranked_by_their_neighbours(years_engine):
    found = years_engine.differ({"a": "year=1990", "b": "year=2010"})
    assert found["kind"] == "shift" and found["words"][0]["shift"] > 0


def test_a_run_leaves_the_words_that_change_along_a_number(tmp_path, monkeypatch):
    from tasks.attributes import effects

    draw = np.random.default_rng(0)
    year_n = draw.uniform(1990, 2010, 60)
    late_n = year_n > 2000
    words_nT = np.stack([np.full(60, 5), np.where(late_n, 3, 4)], 1)  # word 5 stands beside 3 or 4
    column = Column.of_numbers("year", year_n, 3)
    codes = [column.encode(year_n)]
    design = Design.of([column], [(0,)], codes)
    attributes, shares = design.encode(codes)
    texts = EncodedCorpus(words_nT.reshape(-1).astype(np.int32), np.arange(0, 121, 2), attributes, shares=shares)
    words = Vocabulary.from_counts({name: 100 - i for i, name in enumerate(["early", "late", "ship", "sea"])})
    vectors = draw.normal(size=(len(words), 8)).astype(np.float32)
    trained = SimpleNamespace(design=design, vocabularies=[words], vocabulary=words, vectors=lambda: vectors.copy())
    monkeypatch.setattr(effects, "columns_of_names", lambda *_: [])
    effects.show_effects(Result("attributes", "", {}), trained, SimpleNamespace(encoded={"train": texts}), tmp_path)
    ((found,), _) = read(tmp_path)
    assert found["name"] == "year" and found["number"]
    assert found["words"][0]["q"] < 0.05 and found["words"][0]["documents"] == [60]
