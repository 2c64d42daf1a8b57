"""The explorer's server: right answers, and hostile input refused in words."""

import asyncio
import json

import numpy as np
import pytest
import torch

from atd.neighbours import compare
from atd.ragged import Ragged, offsets_of
from tests.tasks.tiny_model import NAMES, write_checkpoint

pytest.importorskip("starlette")
pytest.importorskip("httpx")


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    from tasks.explore import opened

    return opened(write_checkpoint(tmp_path_factory.mktemp("explorer") / "tour" / "one"))


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


def test_page_is_complete_and_asks_nobody_else(client):
    for path in ("/", "/page.js", "/map.js", "/page.css"):
        answer = client.get(path)
        assert answer.status_code == 200
        assert "http://" not in answer.text.replace("http://www.w3.org/2000/svg", "") and "https://" not in answer.text
        assert "default-src 'self'" in answer.headers["content-security-policy"]


def test_models_are_described(client):
    assert client.get("/api/models").json() == [{"name": "tour/one", "words": 27, "attributes": len(NAMES)}]
    about = client.get("/api/models/0").json()
    assert [a["name"] for a in about["attributes"]] == NAMES
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
    np.testing.assert_allclose(answers[0]["place"], engine.points[1], atol=1e-4)


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


def as_text(ids: list[int]) -> Ragged:
    return Ragged(np.array(ids), offsets_of([len(ids)]))


def test_a_text_is_placed(client, engine):
    text = "The Lord said: the king and the whale xyzzy! " * 3
    answer = client.post("/api/models/0/read", json={"text": text}).json()
    assert answer["unknown"] == [":", "xyzzy", "!"] and answer["unknown_count"] == 9
    assert len(answer["vector"]) == 6 and min(answer["vector"]) >= 0 and len(answer["place"]) == 2
    best = engine.names[int(engine.perplexities(as_text(engine.ids(text)[0])).argmin())]
    assert answer["likeliest"][0][0] == best


@pytest.mark.parametrize("name", ["paper", "atd"])
def test_perplexities_over_all_words_are_exact(name, tmp_path):
    from tasks.explore import opened

    engine = opened(write_checkpoint(tmp_path / "tour" / "one", {"name": name, "additive": name == "atd"}))
    for p in (engine.model.c, engine.model.W_fa):
        if p is not None:
            torch.nn.init.normal_(p)
    tokens = torch.tensor(engine.ids("the lord said to the king and she was very bright")[0])
    context = torch.stack([torch.cat([torch.ones(3, dtype=torch.long), tokens])[i : i + 3] for i in range(len(tokens))])
    with torch.no_grad():
        exact = [engine.model.nll(context, tokens, x.expand(len(tokens), -1)).exp() for x in engine.x_AD]
    torch.testing.assert_close(engine.perplexities(as_text(tokens.tolist())), torch.stack(exact))


HOSTILE = ["<script>alert(1)</script>", "\x00\x01", "‮evil", "🙂" * 50, "../../etc/passwd", "a" * 200, "\ud800", "'; --"]


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("query", ["neighbours", "read", "generate"])
def test_hostile_text_is_answered_as_data(client, query, value):
    body = {"word": value, "text": value, "start": value, "a": value, "b": NAMES[0]}
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
     {"seed": -1}, {"samples": 1000}, {"mix": [{"vector": [1], "weight": 1}]}, {"words": "10"}, {"top_k": True}],
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
