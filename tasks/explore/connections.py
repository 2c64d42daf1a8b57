"""The server's end of the line: it says where it listens once it does, and lets go of clients that keep it waiting."""

from __future__ import annotations

import asyncio
import socket

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 10.0  # seconds for a client to send a whole request, and between two looks at one that reads the answer


class Connection(H11Protocol):
    """One client. uvicorn alone would wait for ever for a request that was begun, or never begun."""

    look: asyncio.TimerHandle | None = None
    unread = 0  # bytes of the answer that still waited at the last look

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.wait()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self.look is not None:
            self.look.cancel()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self.wait()

    def wait(self) -> None:
        if self.look is not None:
            self.look.cancel()
        self.look = self.loop.call_later(PATIENCE, self.give_up)

    def give_up(self) -> None:
        """Unless it is this side that works, or the client still reads."""
        before, self.unread = self.unread, self.transport.get_write_buffer_size()
        idle = self.unread > 0 and self.unread == before
        if idle or self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self.transport.abort()
        else:
            self.wait()


class Server(uvicorn.Server):
    def __init__(self, app: ASGIApp):
        super().__init__(uvicorn.Config(app, http=Connection, ws="none", log_level="error", access_log=False))

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or []:
            host, port = listening.getsockname()
            print(f"explorer: http://{host}:{port}  (Ctrl-C ends it)", flush=True)
