"""Requests that mean harm, drawn from a seed: wrong values, damaged bytes, foreign pages and hosts, paths to files."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from tests.faults.mutations import mutated
from tests.tasks.tiny_model import NAMES

JSON = {"Host": "127.0.0.1", "Content-Type": "application/json"}
# fmt: off
TEXTS = (
    "", " ", "\0", "\ud800", "<script>alert(1)</script>", "🙂" * 600, "a" * 30_000, "the " * 4000, "9" * 400, "nan",
    "0*", "1e999*bible-kjv", "-" * 500, "(" * 500, "a=b=c:d", "../../etc/passwd", "%s%n", "year=1e308",
)
NUMBERS = (0, -1, 1e-39, 1e-300, 5e-324, 1e308, -1e308, float("nan"), float("inf"), 10**30, 10**4000, 0.5, True, 2**31)
OTHERS: tuple[Any, ...] = (None, [], {}, [[]], [{}], [None] * 60, {"a": {"b": {}}}, [1e4] * 6, [float("nan")] * 6)
ORIGINS = (
    "https://evil.example", "http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1", "file://", "",
    "http://localhost",
)
HOSTS = (
    "evil.example", "127.0.0.1.evil.example", "evil.example:80", "localhost.evil.example", "0.0.0.0", "169.254.169.254",
    "[::1]", "", "127.0.0.1@evil.example", "evil.example/127.0.0.1", "127.1", "2130706433", "*",
    "127.0.0.1,evil.example",
)
PATHS = (
    "/../queries.py", "/..%2fqueries.py", "/%2e%2e/%2e%2e/run.py", "/page/../../server.py", "//etc/passwd",
    "/etc/passwd", "/....//....//etc/passwd", "/%00", "/page.js%00.css", "/..\\..\\run.py", "/%c0%ae%c0%ae/run.py",
    "/server.py",
    "/api/models/" + "9" * 5000, "/api/models/-1", "/api/models/0/../../../run.py", "/api/models/0x0", "/api/models/٠",
    "http://evil.example/", "/" + "a/" * 3000, "/api/models/1e0", "/a?" + "q=1&" * 3000, "*",
)
HEADERS = (
    ("Content-Encoding", "gzip"), ("Accept-Encoding", "gzip;q=nan, *;q=-1"), ("Range", "bytes=0-,5-1,-999999999999"),
    ("Range", "bytes=" + "0-1," * 3000), ("Expect", "100-continue"), ("If-None-Match", "*" * 5000),
    ("Upgrade", "websocket"), ("Content-Type", "application/json; charset=utf-99"), ("Cookie", "a" * 20_000),
    ("X-Forwarded-Host", "evil.example"), ("Connection", "close, upgrade"),
)
# fmt: on


@dataclass(frozen=True)
class Asked:
    """A request, and how it is written on the line."""

    method: str
    path: str
    headers: dict[str, str] = field(default_factory=lambda: dict(JSON))
    body: bytes = b""

    def line(self) -> bytes:
        headers = {"Connection": "close"} | self.headers | {"Content-Length": str(len(self.body))}
        head = f"{self.method} {self.path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items())
        return head.encode("utf-8", "replace") + b"\r\n" + self.body

    def __str__(self) -> str:
        return repr(self.line()[:160])


def post(query: str, body: Any, headers: dict[str, str] = JSON) -> Asked:
    """A query of a model, such as 0/find."""
    return Asked("POST", f"/api/models/{query}", headers, json.dumps(body).encode())


PAIR = {"a": NAMES[0], "b": NAMES[2], "base": {}}
MIX = [{"name": NAMES[0], "weight": 1.0}, {"vector": [0.1] * 6, "weight": -0.5}]
SETTINGS = {"words": 20, "seed": 3, "temperature": 0.8, "top_k": 5, "top_p": 0.9, "samples": 2}
GOOD: dict[str, dict[str, Any]] = {  # model 0 has one column; model 1 genders and years
    "0/find": {"text": "bible"},
    "0/generate": {"mix": MIX, "base": {}, "start": "the king", **SETTINGS},
    "0/neighbours": {"word": "light", "k": 5, "least": 0, **PAIR},
    "0/differ": PAIR,
    "0/read": {"text": "the lord said to the king and the whale was very bright"},
    "1/find": {"text": "year:1995"},
    "1/generate": {"mix": [{"profile": {"year": "1995"}, "weight": 1.0}], "base": {"year": "1"}, **SETTINGS},
    "1/neighbours": {"word": "light", "a": "year=1995", "b": "gender=male", "base": {"year": "2005.5"}},
    "1/differ": {"entry": 1},
}


def good(draw: Random) -> Asked:
    """What the page asks."""
    query = draw.choice([*GOOD, "page"])
    if query == "page":
        return Asked("GET", draw.choice(["/", "/map.js", "/page.css", "/api/models", "/api/models/0"]))
    return post(query, GOOD[query] | ({"seed": draw.randrange(1000)} if "generate" in query else {}))


def wrong(draw: Random) -> Asked:
    """A well-formed request whose values, path, method or headers are not what they should be."""
    asked = post(query := draw.choice(list(GOOD)), replaced(draw, GOOD[query]))
    for _ in range(draw.choice([0, 0, 1, 2])):
        change = draw.randrange(3)
        if change == 0:
            asked = replace(asked, path=draw.choice(PATHS))
        elif change == 1:
            asked = replace(asked, headers=asked.headers | dict([draw.choice(HEADERS)]))
        else:
            asked = replace(
                asked, method=draw.choice(["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "POST"])
            )
    return asked


def replaced(draw: Random, value: Any) -> Any:
    """A value with one or several of its parts, at any depth, put in place of something else."""
    if draw.random() < 0.3:
        return draw.choice([*TEXTS, *NUMBERS, *OTHERS])
    if isinstance(value, dict):
        key = draw.choice([*value, "more"])
        return {**value, key: replaced(draw, value.get(key, 1))}
    if isinstance(value, list) and value:
        i = draw.randrange(len(value))
        return [*value[:i], replaced(draw, value[i]), *value[i + 1 :]]
    return draw.choice([*TEXTS, *NUMBERS, *OTHERS])


def damaged(draw: Random) -> bytes:
    """The bytes of a request, damaged anywhere: perhaps no HTTP at all."""
    return mutated(good(draw).line(), draw)


def foreign() -> list[Asked]:
    """All that another site could have a browser send here, or that arrives by a name of its own."""
    ask = post("0/generate", GOOD["0/generate"])
    places = [{"Origin": origin} for origin in ORIGINS] + [{"Host": host} for host in HOSTS]
    places += [{"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "cors"} for site in ("cross-site", "same-site")]
    kinds = [
        {"Content-Type": kind} for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data")
    ]
    out = [replace(ask, headers=JSON | more) for more in places + kinds]
    return out + [
        Asked("GET", path, {"Host": "127.0.0.1"} | more) for more in places for path in ("/api/models", "/api/models/0")
    ]


def reaching() -> list[Asked]:
    """Paths to files that are no part of the page."""
    return [Asked("GET", path) for path in PATHS]
