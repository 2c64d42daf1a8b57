"""The explorer's application, asked without a network or served on this machine by a thread."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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

    def post(self, path, content=None, **options):
        if content is not None:
            options["headers"] = {"content-type": "application/json", **options.get("headers", {})}
        return self.send("POST", path, content=content, **options)


@contextmanager
def served(runs: list[Path]) -> Iterator[int]:
    """The port where the models of some run folders are served."""
    from tasks.explore import listen, opened
    from tasks.explore.connections import Server
    from tasks.explore.server import application

    server = Server(application([opened(run) for run in runs]))
    listening = listen(0)
    port = listening.getsockname()[1]
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.02)
    yield port
    server.should_exit = True
    thread.join(10)
