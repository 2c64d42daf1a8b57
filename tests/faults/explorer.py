"""The explorer under load, slow clients and hostile requests.

Lost is: an answer 5xx, a crash, an answer to a foreign page or host, memory that grows, an ordinary client that waits.
"""

from __future__ import annotations

import http.client
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.faults.fault import Effort, Fault
from tests.tasks.explorer.composed import ALONG_YEARS, NUMBERED, write_composed
from tests.tasks.explorer.hostile import GOOD, Asked, damaged, foreign, good, post, reaching, wrong
from tests.tasks.tiny_model import write_checkpoint

FAMILY = "explorer"
LONGEST = 10.0  # seconds that an ordinary client may wait
GROWTH = 200  # MB
STATM = "/proc/{}/statm"
ROOT = Path(__file__).parent.parent.parent


def faults(effort: Effort) -> Iterator[Fault]:
    """Slow clients hold the line while others ask; after that each kind of hostile request; memory over all of it."""
    with explorer(1.0 if effort.quick else None) as server:
        server.timed(post("0/read", GOOD["0/read"]))  # what is made on first use
        before = server.memory()
        slow = SlowClients(server, effort.times(60, 6))
        yield crowd(server, effort)
        yield slow.outcome()
        yield each(server, "foreign pages and hosts", foreign(), refused)
        yield each(server, "paths to other files", reaching(), refused)
        yield each(server, "requests with wrong values", drawn(wrong, effort, "wrong", 1500, 150), answered)
        yield each(server, "requests of damaged bytes", drawn(damaged, effort, "damaged", 800, 60), unbroken, 0.3)
        yield each(server, "bodies without an end", endless(effort), cut_short)
        yield alive(server)
        yield memory(server, before)


# ---- the server


class Explorer:
    """A server process, and ways to ask it."""

    def __init__(self, process: subprocess.Popen, port: int, log: Path, patience: float):
        self.process, self.port, self.log, self.patience = process, port, log, patience

    def connect(self, timeout: float = LONGEST) -> socket.socket:
        line = socket.socket()
        line.settimeout(timeout)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 14)  # little waits unread on this side
        line.connect(("127.0.0.1", self.port))
        return line

    def ask(self, sent: bytes, timeout: float = LONGEST) -> int | None:
        """The status of the answer; None = no answer that could be read."""
        try:
            with self.connect(timeout) as line:
                with suppress(OSError):  # refused before its end; the answer may be there all the same
                    line.sendall(sent)
                answer = http.client.HTTPResponse(line, method=sent.partition(b" ")[0].decode("latin-1"))
                answer.begin()
                answer.read()
                return answer.status
        except (OSError, http.client.HTTPException, ValueError):
            return None

    def timed(self, asked: Asked) -> tuple[int | None, float]:
        started = time.monotonic()
        return self.ask(asked.line(), 3 * LONGEST), time.monotonic() - started

    def memory(self) -> float:
        """MB in use, where the system says so."""
        pages = int(Path(STATM.format(self.process.pid)).read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextmanager
def explorer(patience: float | None) -> Iterator[Explorer]:
    """A server with two tiny models, in a process of its own. `patience` shortens that with slow clients."""
    from tasks.explore.connections import PATIENCE

    patience = patience or PATIENCE
    with tempfile.TemporaryDirectory() as folder:
        runs = [write_checkpoint(Path(folder) / "tour" / "one")]
        runs.append(write_composed(Path(folder) / "tour" / "years", effects=ALONG_YEARS, columns=NUMBERED))
        log = Path(folder) / "errors"
        command = [sys.executable, "-m", "tests.faults.explorer", str(patience), *map(str, runs)]
        with log.open("w") as errors:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=ROOT)
        assert process.stdout is not None
        try:
            said = process.stdout.readline()
            if not said:
                raise RuntimeError(f"the explorer did not start: {log.read_text()[-500:]}")
            yield Explorer(process, int(said.split()[1].rsplit(":", 1)[1]), log, patience)
        finally:
            process.kill()
            process.wait()


def serve(patience: str, *runs: str) -> None:
    from tasks.explore import connections, listen, opened
    from tasks.explore.server import application

    connections.PATIENCE = float(patience)
    connections.Server(application([opened(Path(run)) for run in runs])).run(sockets=[listen(0)])


# ---- many clients, and slow ones


def crowd(server: Explorer, effort: Effort) -> Fault:
    """Ordinary clients that ask, look at the answer for a moment, and ask again."""
    clients, seconds = effort.times(50, 5), effort.times(30, 2)
    fault = Fault(FAMILY, f"{clients} clients for {seconds} s, among slow ones")
    until = time.monotonic() + seconds

    def client(i: int) -> list[tuple[Asked, int | None, float]]:
        draw, done = effort.draw(f"client {i}"), []
        while time.monotonic() < until:
            asked = good(draw)
            done.append((asked, *server.timed(asked)))
            time.sleep(draw.uniform(0.1, 0.9))
        return done

    with ThreadPoolExecutor(clients) as pool:
        answers = [one for done in pool.map(client, range(clients)) for one in done]
    for asked, status, waited in answers:
        late = status != 200 or waited > LONGEST
        fault.tried(f"{asked}: answer {status} after {waited:.1f} s" if late else None)
    waits = sorted(waited for *_, waited in answers)
    fault.note = f"median wait {waits[len(waits) // 2]:.2f} s, longest {waits[-1]:.2f} s"
    return fault


class SlowClients:
    """Clients that never finish: each must lose its line, soon enough."""

    def __init__(self, server: Explorer, number: int):
        self.server = server
        self.most = 3 * server.patience + LONGEST  # who reads nothing is noticed at the second look
        self.fault = Fault(FAMILY, "clients that send or read nothing, half a request, or drops of one")
        self.held: list[float] = []
        self.threads = [threading.Thread(target=self.hold, args=(i,)) for i in range(number)]
        for thread in self.threads:
            thread.start()

    def hold(self, i: int) -> None:
        whole = post("0/find", GOOD["0/find"]).line()
        more = Asked("GET", "/map.js", {"Host": "localhost", "Connection": "keep-alive"}).line()
        kinds: dict[str, Callable[[socket.socket, float], None]] = {
            "nothing": wait_for_the_end,
            "half a line": lambda line, end: wait_for_the_end(line, end, whole[:20]),
            "half the headers": lambda line, end: wait_for_the_end(line, end, whole[: whole.index(b"\r\n\r\n")]),
            "half the body": lambda line, end: wait_for_the_end(line, end, whole[:-5]),
            "drops": lambda line, end: drip(line, end, [bytes([byte]) for byte in whole[:-5]]),
            "no reading": lambda line, end: drip(line, end, [more * 20]),
        }
        kind = list(kinds)[i % len(kinds)]
        started = time.monotonic()
        try:
            with self.server.connect(self.most) as line:
                kinds[kind](line, started + self.most)
        except TimeoutError:
            self.fault.tried(f"{kind}: still connected after {self.most:.0f} s")
            return
        except OSError:
            pass  # the line was cut, as it should be
        self.held.append(time.monotonic() - started)
        self.fault.tried()

    def outcome(self) -> Fault:
        for thread in self.threads:
            thread.join()
        self.fault.note = f"let go after {max(self.held):.1f} s at most" if self.held else ""
        return self.fault


def wait_for_the_end(line: socket.socket, end: float, sent: bytes = b"") -> None:
    line.sendall(sent)
    while line.recv(4096):
        pass


def drip(line: socket.socket, end: float, pieces: list[bytes]) -> None:
    """One piece after another, and none of the answers read."""
    while time.monotonic() < end:
        for piece in pieces:
            line.sendall(piece)
            time.sleep(0.05)
    raise TimeoutError


# ---- hostile requests


def drawn(make: Callable, effort: Effort, name: str, full: int, quick: int) -> Iterator[Asked | bytes]:
    return (make(effort.draw(f"{name} {case}")) for case in range(effort.times(full, quick)))


def each(server: Explorer, name: str, requests, lost: Callable[[int | None], bool], timeout: float = LONGEST) -> Fault:
    """Every request in turn, some at a time; `lost` judges the status of the answer."""
    fault = Fault(FAMILY, name)
    said: dict[str, int] = {}

    def send(asked: Asked | bytes) -> tuple[Asked | bytes, int | None]:
        return asked, server.ask(asked if isinstance(asked, bytes) else asked.line(), timeout)

    with ThreadPoolExecutor(8) as pool:
        for case, (asked, status) in enumerate(pool.map(send, requests)):
            shown = repr(asked[:160]) if isinstance(asked, bytes) else str(asked)
            fault.tried(f"case {case}, {shown}: answer {status}" if lost(status) else None)
            said[str(status or "none")] = said.get(str(status or "none"), 0) + 1
    fault.note = "answers " + ", ".join(f"{status}: {n:,}" for status, n in sorted(said.items()))
    return fault


def refused(status: int | None) -> bool:
    """Lost: anything but a refusal."""
    return status is None or not 400 <= status < 500


def answered(status: int | None) -> bool:
    """Lost: no answer, or one that blames the server."""
    return status is None or status >= 500


def unbroken(status: int | None) -> bool:
    """Lost: an answer that blames the server. What is no HTTP need not be answered."""
    return status is not None and status >= 500


def cut_short(status: int | None) -> bool:
    """Lost: a body that was taken in whole."""
    return status is not None and status not in (400, 413)


def endless(effort: Effort) -> Iterator[bytes]:
    head = "POST /api/models/0/read HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    size = effort.times(50_000_000, 2_000_000)
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    for _ in range(effort.times(4, 2)):
        yield f"{head}Content-Length: {size}\r\n\r\n".encode() + b" " * size
        yield f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunk * (size // 0x10000)
        yield f"{head}Content-Length: 99999999999999999999\r\n\r\n".encode() + b"[" * 200_000
        yield f"{head}X: ".encode() + b"x" * size


# ---- after all of it


def alive(server: Explorer) -> Fault:
    """It runs, has printed no error, and answers."""
    fault = Fault(FAMILY, "ordinary requests after all of it")
    draw = random.Random(0)
    for _ in range(20):
        status, waited = server.timed(good(draw))
        fault.tried(f"answer {status} after {waited:.1f} s" if status != 200 or waited > LONGEST else None)
    errors = server.log.read_text(errors="replace")
    fault.tried(f"it ended with {server.process.returncode}" if server.process.poll() is not None else None)
    fault.tried(f"it printed {errors[-300:]!r}" if "Traceback" in errors else None)
    return fault


def memory(server: Explorer, before: float) -> Fault:
    fault = Fault(FAMILY, "memory over all of it")
    grown = server.memory() - before
    fault.tried(f"grew by {grown:.0f} MB" if grown > GROWTH else None)
    fault.note = f"grew by {grown:.0f} MB, from {before:.0f} MB"
    return fault


if __name__ == "__main__":
    serve(*sys.argv[1:])
