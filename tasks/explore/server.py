"""The explorer's web server: one page, its script and style, and a small JSON interface, on this machine only."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

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
    """Routes: the page, `GET /api/models`, `GET /api/models/<i>`, and `POST /api/models/<i>/…` for every query.

    Answers only requests addressed to this machine, so that no foreign page can reach it by renaming its host, and
    none that a foreign page sends.
    """
    described = [engine.describe() for engine in engines]
    summary = [{"name": d["name"], "words": d["words"], "attributes": len(d["attributes"])} for d in described]
    limit = anyio.CapacityLimiter(WORKERS)

    async def models(request: Request) -> Response:
        return Json(summary)

    def about(i: int) -> Callable:
        async def answer(request: Request) -> Response:
            return Json(described[i])

        return answer

    def query(i: int, method: Callable[[Queries, dict], dict]) -> Callable:
        async def answer(request: Request) -> Response:
            body = await read_json(request)
            return Json(await run_sync(method, engines[i], body, limiter=limit))

        return answer

    routes = [Route(path, file_response(PAGE / name)) for path, name in FILES.items()]
    routes.append(Route("/api/models", models))
    for i in range(len(engines)):
        routes.append(Route(f"/api/models/{i}", about(i)))
        for name, method in QUERIES.items():
            routes.append(Route(f"/api/models/{i}/{name}", query(i, method), methods=["POST"]))
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"], www_redirect=False)
    handlers: dict[Any, Any] = {AtdError: refuse, Refused: refuse, 404: not_found}
    middleware = [hosts, Middleware(OwnPage), Middleware(GZipMiddleware)]
    return Starlette(routes=routes, middleware=middleware, exception_handlers=handlers)


class OwnPage:
    """Lets through what the page, the address bar or a program asks; and links to the page, wherever they stand."""

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self.app
        if scope["type"] == "http" and not is_own(scope["method"], Headers(scope=scope)):
            answer = Json({"error": "this page answers only itself, not other sites"}, 403)
        await answer(scope, receive, send)


def is_own(method: str, headers: Headers) -> bool:
    """Browsers say where a request comes from; other programs need not."""
    own = f"http://{headers.get('host', '')}".lower()
    link = method == "GET" and headers.get("sec-fetch-mode") == "navigate"
    same_site = headers.get("sec-fetch-site", "none") in ("same-origin", "none")
    return headers.get("origin", own).lower() == own and (same_site or link)


def file_response(path: Path) -> Callable:
    async def send(request: Request) -> Response:
        return FileResponse(path, headers=HEADERS)

    return send


async def read_json(request: Request) -> dict:
    """The request's JSON object; refused when too long, before it is read to the end.

    Forms and plain text are what a foreign page may send without asking, so neither is read.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, "send JSON, with the content type application/json")
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                raise Refused(413, f"the request is too long; the limit is {MOST_BYTES:,} bytes")
    except ClientDisconnect:
        raise Refused(400, "the request ends before its end") from None
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
