"""The explorer's connections: clients that keep it waiting are let go, others are answered, at an address it keeps."""

import builtins
import os
import signal
import socket
import time

import pytest
from omegaconf import OmegaConf

from tests.tasks.explorer.served import served

pytest.importorskip("starlette")
HEAD = "POST /api/models/0/find HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
BODY = '{"text": "light"}'
WHOLE = f"{HEAD}Content-Length: {len(BODY)}\r\n\r\n{BODY}".encode()


@pytest.fixture(scope="module")
def port(folder):
    from tasks.explore import connections

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connections, "PATIENCE", 0.4)
        with served([folder / "one"]) as port:
            yield port


def talk(port, sent=b""):
    client = socket.create_connection(("127.0.0.1", port), timeout=8)
    client.sendall(sent)
    return client


HALVES = {
    "nothing": b"",
    "half a line": b"GET / HT",
    "half the headers": HEAD.encode(),
    "half the body": WHOLE[:-5],
    "chunks without an end": f"{HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nlight\r\n".encode(),
}


@pytest.mark.parametrize("sent", HALVES.values(), ids=HALVES)
def test_who_does_not_finish_is_let_go(port, sent, capfd):
    with talk(port, sent) as client:
        while client.recv(4096):  # ends when the server closes, or the test fails after 8 s
            pass
    assert "Traceback" not in capfd.readouterr().err


def test_who_was_answered_and_begins_again_is_let_go(port):
    with talk(port, WHOLE) as client:
        assert client.recv(4096)
        time.sleep(0.1)
        client.sendall(b"GET / HT")
        while client.recv(4096):
            pass


def test_who_sends_drop_by_drop_is_let_go(port):
    with talk(port) as client, pytest.raises(OSError):
        for byte in WHOLE * 10:
            client.sendall(bytes([byte]))
            time.sleep(0.02)


def test_who_does_not_read_is_let_go(port):
    with talk(port) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with pytest.raises(OSError):
            for _ in range(20_000):
                client.sendall(b"GET /map.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                time.sleep(0.0005)


def test_who_waits_for_a_long_answer_keeps_the_line(port, monkeypatch):
    from tasks.explore.profiles import Profiles

    monkeypatch.setattr(Profiles, "find", lambda self, query: time.sleep(1.2) or {"matches": [7]})
    with talk(port, WHOLE) as client:
        answer = b""
        while not answer.endswith(b'{"matches":[7]}'):
            part = client.recv(4096)
            assert part
            answer += part


def test_the_address_is_printed_once_it_answers(folder, tmp_path, monkeypatch):
    from tasks.explore import run

    reached = []

    def told(line, **_):
        port = int(line.split()[1].rsplit(":", 1)[1])
        reached.append(socket.create_connection(("127.0.0.1", port), timeout=5).close())

    monkeypatch.setattr(builtins, "print", told)
    run(settings(folder, seconds=0.3), tmp_path)
    assert reached == [None]


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_to_stop_it_is_its_regular_end(folder, tmp_path, monkeypatch, signum):
    from tasks.engine.signals import stop
    from tasks.explore import run

    before = signal.signal(signum, stop)  # as in run.py
    monkeypatch.setattr(builtins, "print", lambda *_, **__: os.kill(os.getpid(), signum))
    try:
        result = run(settings(folder, seconds=30), tmp_path)
    finally:
        signal.signal(signum, before)
    assert result.rows["explorer"]["models"] == 1
    assert result.verdict.startswith("The explorer showed 1 model and answered ")


def settings(folder, seconds):
    task = {"name": "explore", "port": 0, "newest": 1, "seconds": seconds}
    return OmegaConf.create({"task": task, "checkpoint": str(folder / "one")})
