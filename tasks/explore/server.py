"""The explorer's web server: one page, its script and style, and a small JSON interface, on this machine only."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from atd.errors import AtdError
from tasks.explore.asked import UnknownWord
from tasks.explore.queries import Queries

PAGE = Path(__file__).parent / "page"
FILES = {"/": "page.html", "/page.css": "page.css"} | {f"/{path.name}": path.name for path in PAGE.glob("*.js")}
QUERIES = {
    "find": Queries.find,
    "generate": Queries.generate,
    "neighbours": Queries.neighbours,
    "differ": Queries.differ,
    "read": Queries.read,
}
MOST_BYTES = 100_000  # of a request
WORKERS = 2  # queries answered at once; more would only take the cores from one another
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data: blob:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


class Json(Response):
    """ASCII JSON: half a surrogate pair in a query must not break the answer that quotes it."""

    media_type = "application/json"

    def __init__(self, content: Any, status_code: int = 200):
        super().__init__(content, status_code, HEADERS)

    def render(self, content: Any) -> bytes:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


class Refused(Exception):
    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status


def application(engines: list[Queries]) -> Starlette:
    """Routes: the page, `GET /api/models`, `GET /api/models/{i}`, and `POST /api/models/{i}/…` for every query.

    Answers only requests addressed to this machine, so that no foreign page can reach it by renaming its host.
    """
    described = [engine.describe() for engine in engines]
    summary = [{"name": d["name"], "words": d["words"], "attributes": len(d["attributes"])} for d in described]
    limit = anyio.CapacityLimiter(WORKERS)

    async def models(request: Request) -> Response:
        return Json(summary)

    async def model(request: Request) -> Response:
        return Json(described[chosen(request)])

    def query(method: Callable[[Queries, dict], dict]) -> Callable:
        async def answer(request: Request) -> Response:
            engine, body = engines[chosen(request)], await read_json(request)
            return Json(await run_sync(method, engine, body, limiter=limit))

        return answer

    def chosen(request: Request) -> int:
        i = request.path_params["i"]
        if i >= len(engines):
            raise Refused(404, f"there is no model number {i}")
        return i

    routes = [Route(path, file_response(PAGE / name)) for path, name in FILES.items()]
    routes += [Route("/api/models", models), Route("/api/models/{i:int}", model)]
    for name, method in QUERIES.items():
        routes.append(Route(f"/api/models/{{i:int}}/{name}", query(method), methods=["POST"]))
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"], www_redirect=False)
    handlers: dict[Any, Any] = {AtdError: refuse, Refused: refuse, 404: not_found}
    return Starlette(routes=routes, middleware=[hosts, Middleware(GZipMiddleware)], exception_handlers=handlers)


def file_response(path: Path) -> Callable:
    async def send(request: Request) -> Response:
        return FileResponse(path, headers=HEADERS)

    return send


async def read_json(request: Request) -> dict:
    """The request's JSON object; refused when too long, before it is read to the end."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise Refused(413, f"the request is too long; the limit is {MOST_BYTES:,} bytes")
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(400, "the request is not valid JSON") from None
    if not isinstance(value, dict):
        raise Refused(400, "the request is not a JSON object")
    return value


async def refuse(request: Request, error: Exception) -> Response:
    status = error.status if isinstance(error, Refused) else 400
    content: dict[str, Any] = {"error": str(error)}
    if isinstance(error, UnknownWord):
        content["suggestions"] = error.suggestions
    return Json(content, status)


async def not_found(request: Request, error: Exception) -> Response:
    return Json({"error": "there is nothing at this address"}, 404)
