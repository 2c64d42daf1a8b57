"""A web server of this machine, for downloads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[Any]:
    """The server, which tests give attributes that the handler looks at; `at` is its address."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.at = f"http://127.0.0.1:{server.server_port}/"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()
