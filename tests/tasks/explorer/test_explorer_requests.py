"""The explorer refuses hostile requests in words: what is malformed, too large, or from another page."""

import json

import pytest

from tests.tasks.tiny_model import NAMES


def test_page_is_complete_and_asks_nobody_else(client):
    from tasks.explore.server import FILES

    assert {"/", "/page.js", "/map.js", "/page.css"} < FILES.keys()
    for path in FILES:
        answer = client.get(path)
        assert answer.status_code == 200
        assert "http://" not in answer.text and "https://" not in answer.text
        assert "default-src 'self'" in answer.headers["content-security-policy"]


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


def test_a_number_of_thousands_of_digits_is_refused(client):
    digits = "9" * 5000
    assert client.get(f"/api/models/{digits}").status_code == 404
    assert client.post(f"/api/models/{digits}/read", json={}).status_code == 404
    assert client.post("/api/models/0/generate", content=f'{{"seed": {digits}}}').status_code == 400


ASKED = {"mix": [{"name": NAMES[0], "weight": 1}]}
FOREIGN = [
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://127.0.0.1:9000"},
    {"origin": "https://127.0.0.1"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
]


@pytest.mark.parametrize("headers", FOREIGN)
def test_another_page_gets_no_answer(client, headers):
    answer = client.post("/api/models/0/generate", json=ASKED, headers=headers)
    assert answer.status_code == 403 and "other sites" in answer.json()["error"]
    assert "access-control-allow-origin" not in answer.headers


def test_another_page_gets_no_description(client):
    for path in ("/api/models", "/api/models/0", "/page.js"):
        assert client.get(path, headers={"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"}).status_code == 403


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8600", "localhost:9000"])
def test_the_page_itself_is_answered(client, host):
    own = {"host": host, "origin": f"http://{host}", "sec-fetch-site": "same-origin"}
    assert client.post("/api/models/0/generate", json=ASKED, headers=own).status_code == 200


def test_a_link_elsewhere_leads_to_the_page(client):
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert client.get("/", headers=link).status_code == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_what_a_foreign_form_could_send_is_not_read(client, kind):
    answer = client.post("/api/models/0/generate", content=json.dumps(ASKED), headers={"content-type": kind})
    assert answer.status_code == 415 and "application/json" in answer.json()["error"]
