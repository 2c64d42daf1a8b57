"""The explorer's server: right answers, and hostile input refused in words."""

import asyncio
import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from atd.design import Column, Design
from atd.given import resolve
from atd.models import load
from atd.neighbours import compare
from tests.tasks.tiny_model import CONFIG, NAMES, TEXT, write_checkpoint

pytest.importorskip("starlette")
pytest.importorskip("httpx")


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    from tasks.explore import opened

    return opened(write_checkpoint(tmp_path_factory.mktemp("explorer") / "tour" / "one"))


AGES, GENDERS = ["20s", "30–39"], ["female", "male", "<b>x</b>"]
EFFECTS = {
    "columns": [
        {
            "name": "gender",
            "values": ["female", "male"],
            "words": [
                {"word": "ship", "effect": 0.1, "low": -0.1, "high": 0.3, "p": 0.4, "q": 0.5, "documents": [8, 6]},
                {"word": "<i>sea</i>", "effect": 0.4, "low": 0.3, "high": 0.5, "p": 0.0, "q": 0.0, "documents": [9, 7]},
            ],
        }
    ]
}


def write_composed(folder, terms=((0,), (1,)), effects=None):
    """A random model of ages and genders, with as much text of each attribute as its number says."""
    columns = [Column("age", AGES), Column("gender", GENDERS)]
    codes = [np.array(list(np.ndindex(*(len(columns[q].values) for q in term))), np.int32) for term in terms]
    A = sum(map(len, codes))
    design = Design(columns, list(terms), codes, np.arange(1.0, A + 1) * 100)
    folder = write_checkpoint(folder, CONFIG | {"name": "atd"}, names=design.names)
    trained = load(folder)
    trained.design = design
    trained.model.attributes.centre(torch.from_numpy(design.words_A), torch.from_numpy(design.term_A))
    torch.nn.init.normal_(trained.model.attributes.L)
    trained.save(folder / "checkpoints" / "atd" / "best.ckpt")
    if effects is not None:
        (folder / "effects.json").write_text(json.dumps(effects), encoding="utf-8")
    return folder


class Client:
    """Requests straight to the application; an exception in it is raised here."""

    def __init__(self, app):
        self.app = app

    def send(self, method, path, **options):
        import httpx

        async def once():
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                return await client.request(method, path, **options)

        return asyncio.run(once())

    def get(self, path, **options):
        return self.send("GET", path, **options)

    def post(self, path, **options):
        return self.send("POST", path, **options)


@pytest.fixture(scope="module")
def client(engine):
    from tasks.explore.server import application

    return Client(application([engine]))


@pytest.fixture(scope="module")
def composed(tmp_path_factory):
    from tasks.explore import opened

    return opened(write_composed(tmp_path_factory.mktemp("explorer") / "tour" / "composed", effects=EFFECTS))


@pytest.fixture(scope="module")
def ask(composed):
    from tasks.explore.server import application

    client = Client(application([composed]))
    return lambda kind, **body: client.post(f"/api/models/0/{kind}", json=body).json()


def test_page_is_complete_and_asks_nobody_else(client):
    from tasks.explore.server import FILES

    assert {"/", "/page.js", "/map.js", "/page.css"} < FILES.keys()
    for path in FILES:
        answer = client.get(path)
        assert answer.status_code == 200
        assert "http://" not in answer.text and "https://" not in answer.text
        assert "default-src 'self'" in answer.headers["content-security-policy"]


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


def test_a_text_is_placed(client, engine):
    text = "The Lord said: the king and the whale xyzzy! " * 3
    answer = client.post("/api/models/0/read", json={"text": text}).json()
    assert answer["unknown"] == [":", "xyzzy", "!"] and answer["unknown_count"] == 9
    assert len(answer["vector"]) == 6 and min(answer["vector"]) >= 0 and len(answer["places"][0]) == 2
    values, (probability,) = engine.trained.probabilities(text)
    assert answer["columns"][0]["values"][0][0] == values[probability.argmax()]
    found = dict(answer["columns"][0]["values"])
    np.testing.assert_allclose([found[v] for v in values], probability, rtol=1e-5)


def test_the_views_are_all_attributes_and_each_term(composed):
    about = composed.describe()
    assert [(view["name"], view["ids"]) for view in about["views"]] == [
        ("all", [0, 1, 2, 3, 4]),
        ("age", [0, 1]),
        ("gender", [2, 3, 4]),
    ]
    assert [a["values"] for a in about["attributes"]] == [[0, -1], [1, -1], [-1, 0], [-1, 1], [-1, 2]]
    assert [a["words"] for a in about["attributes"]] == [100, 200, 300, 400, 500]


def test_a_lone_value_is_the_base_profile_with_that_value(ask, composed):
    base = {"gender": "male", "age": ""}
    lone = ask("generate", mix=[{"name": "age=20s", "weight": 1}], base=base)
    profile = ask("generate", mix=[{"profile": {"gender": "male", "age": "20s"}, "weight": 1}])
    assert lone == profile
    assert lone["samples"] != ask("generate", mix=[{"name": "age=20s", "weight": 1}])["samples"]
    x = composed.vector([{"name": "age=20s", "weight": 1}], {"gender": "male"})
    torch.testing.assert_close(x, composed.trained.x({"age": "20s", "gender": "male"}))
    torch.testing.assert_close(composed.vector([{"base": True, "weight": 1}], {}), composed.trained.x(None))


def test_neighbours_follow_the_base_profile(ask, composed):
    pair = {"word": "light", "a": "gender:FEMALE", "b": "", "k": 4}
    near = ask("neighbours", **pair, base={"age": "30-39"})
    x_a, x_b = (composed.trained.x({"age": "30–39", **more}) for more in ({"gender": "female"}, {}))
    with torch.no_grad():
        found = compare(composed.model, composed.vocabulary.id("light"), x_a, x_b, k=4, exclude=range(3))
    assert [n["word"] for n in near["a"]] == composed.vocabulary.decode(found.near_a)
    assert [n["word"] for n in near["b"]] == composed.vocabulary.decode(found.near_b)


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
def test_search_finds_attributes_as_they_are_typed(ask, composed, written, names):
    assert [composed.names[a] for a in ask("find", text=written)["matches"]] == names


def test_search_finds_words_and_sums(ask, composed):
    assert ask("find", text="li")["words"] == ["light", "lights"]
    found = ask("find", text="0.5*20s - gender:male")
    assert {"profile": {"age": "20s"}, "weight": 0.5} in found["mix"]
    assert {"profile": {"gender": "male"}, "weight": -1.0} in found["mix"] and len(found["mix"]) == 2
    assert "no attribute is called" in ask("find", text="qqqq")["note"]
    assert ask("find", text=" ") == {"matches": [], "words": [], "mix": [], "note": ""}


def test_a_number_between_knots_is_found_and_used(composed):
    from tasks.explore.profiles import Profiles

    columns = [Column("age", ["20", "30"], [20.0, 30.0]), composed.trained.design.columns[1]]
    profiles = Profiles(replace(composed.trained, design=replace(composed.trained.design, columns=columns)))
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


def test_words_that_differ_come_with_intervals_from_the_run(ask, composed):
    assert composed.describe()["effects"] == [{"name": "gender", "values": ["female", "male"], "words": 2}]
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
    from tasks.explore.differences import read

    (tmp_path / "effects.json").write_text(broken)
    assert read(tmp_path) == ([], "effects.json in the run folder is not of the form that is read here.")


def test_what_is_no_number_or_no_word_is_left_out(tmp_path):
    from tasks.explore.differences import read

    word = {"effect": 0.1, "low": 0.0, "high": 0.3, "p": 0.4, "q": None}
    words = [{"word": "ship", **word}, {"word": "<unk>", **word}, {"word": "sea", **word, "high": float("inf")}]
    (tmp_path / "effects.json").write_text(json.dumps({"columns": [{"name": "x", "values": ["a"], "words": words}]}))
    ((column,), _) = read(tmp_path)
    assert column["words"] == [{"word": "ship", **word, "documents": []}]


def test_text_of_another_kind_is_warned_about(client, engine):
    def warnings(text):
        return client.post("/api/models/0/read", json={"text": text}).json()["warnings"]

    own = " ".join(engine.vocabulary.decode(engine.reader.written().tokens[:120]))
    assert warnings(own) == []
    (short,) = warnings("the lord said to the king")
    assert short.startswith("Only 6 known words")
    foreign = warnings(own + " der Herr sprach zum König" * 20)
    assert len(foreign) == 1 and "does not know 49%" in foreign[0]
    assert engine.reader.reference[1] == "text that the model itself writes"


def test_perplexity_far_above_the_corpus_is_warned_about(tmp_path):
    from tasks.explore import opened

    folder = write_checkpoint(tmp_path / "tour" / "one")
    (folder / "metrics.json").write_text('{"rows": {"atd": {"perplexity": 4.0}}}')
    answer = opened(folder).read({"text": TEXT * 3})
    assert answer["reference"] == 4 and answer["reference_of"] == "held-out text of the corpus"
    assert answer["warnings"][0].startswith("Unlike the corpus: perplexity 2")


def test_the_perplexity_of_a_text_is_exact(engine):
    text = "the lord said to the king and she was very bright"
    answer = engine.read({"text": text})
    np.testing.assert_allclose(answer["perplexity"], engine.trained.perplexity(text)[0], rtol=1e-5)


def test_of_many_values_the_nearest_are_weighed(tmp_path):
    from tasks.explore import opened

    engine = opened(write_checkpoint(tmp_path / "tour" / "many", names=[f"n{i}" for i in range(250)]))
    column = engine.read({"text": TEXT})["columns"][0]
    assert (column["weighed"], column["of"], len(column["values"])) == (200, 250, 10)
    assert engine.views[0].points.shape == (250, 2) and np.isfinite(engine.views[0].points).all()


def test_thousands_of_attributes_have_a_map(monkeypatch):
    from tasks.explore import views

    monkeypatch.setattr(views, "EXACT", 60)
    x_AD = np.random.default_rng(0).normal(size=(90, 5)).astype(np.float32)
    points = views.points_of(x_AD)
    assert points.shape == (90, 2) and (points == views.points_of(x_AD)).all()


HOSTILE = ["<script>alert(1)</script>", "\x00\x01", "‮evil", "🙂" * 50, "../../etc/passwd", "a" * 200, "\ud800", "'; --"]


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("query", ["neighbours", "read", "generate", "find", "differ"])
def test_hostile_text_is_answered_as_data(client, query, value):
    body = {"word": value, "text": value, "start": value, "a": value, "b": NAMES[0]}
    body["base"] = {value: value} if query == "differ" else {}
    body["mix"] = [{"name": NAMES[4] if value == HOSTILE[0] else value, "weight": 1}]
    answer = client.post(f"/api/models/0/{query}", content=json.dumps(body))
    assert answer.headers["content-type"] == "application/json"
    assert answer.status_code == 200 or (answer.status_code == 400 and answer.json()["error"])


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ("x" * 1_000_000, 413, "too long"),
        ('{"text": "' + "a " * 15_000 + '"}', 400, "30,000 characters are too many; the limit is 20,000"),
        ("not json", 400, "not valid JSON"),
        ("[" * 50_000, 400, "not valid JSON"),
        ("[1]", 400, "not a JSON object"),
        ('{"text": 5}', 400, "give text"),
        ('{"text": ""}', 400, "only 0 known words"),
    ],
)
def test_bad_requests_are_refused_clearly(client, body, status, message):
    answer = client.post("/api/models/0/read", content=body)
    assert answer.status_code == status and message in answer.json()["error"]


@pytest.mark.parametrize(
    "change",
    [{"words": 10**9}, {"temperature": float("nan")}, {"mix": []}, {"mix": [{"name": "bible-kjv"}]}, {"top_p": 0},
     {"base": 5}, {"base": {"attribute": 5}}, {"mix": [{"profile": 1, "weight": 1}]}, {"seed": -1}, {"samples": 1000},
     {"mix": [{"vector": [1], "weight": 1}]}, {"words": "10"}, {"top_k": True}],
)  # fmt: skip
def test_settings_out_of_range_are_refused(client, change):
    body = {"mix": [{"name": "bible-kjv", "weight": 1}]} | change
    answer = client.post("/api/models/0/generate", content=json.dumps(body))
    assert answer.status_code == 400
    assert "give" in answer.json()["error"] or "vector" in answer.json()["error"]


def test_another_host_name_is_not_served(client):
    assert client.get("/", headers={"host": "evil.example"}).status_code == 400


def test_paths_reach_no_file(client):
    for path in ("/../queries.py", "/%2e%2e/queries.py", "/queries.py", "/api/models/..%2f0"):
        assert client.get(path).status_code == 404
