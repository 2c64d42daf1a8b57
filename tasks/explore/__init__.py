"""Serve the explorer: a page on 127.0.0.1 for the models of one or more runs."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from atd.errors import AtdError
from atd.lm import MultiplicativeLM, UnsharedLM
from tasks.engine.result import Result
from tasks.engine.settings import typed
from tasks.engine.signals import Stopped
from tasks.engine.wording import counted
from tasks.explore.settings import FITS, Settings
from tasks.learning.models import find_checkpoint, load

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from tasks.explore.queries import Queries

__all__ = ["FITS", "Settings", "run"]

HOST = "127.0.0.1"
UNREAD = 1 << 17  # bytes that the system keeps for a client that does not read


def run(cfg: DictConfig, out: Path) -> Result:
    task = typed(Settings, cfg.task)
    try:
        from tasks.explore.connections import Server
        from tasks.explore.server import application
    except ModuleNotFoundError as error:
        raise AtdError(f"task=explore: needs {error.name}; install the page extra: pip install -e '.[page]'") from None
    listening = listen(task.port)
    started = time.monotonic()
    models = [opened(path) for path in checkpoints(cfg, task.newest)]
    loaded = time.monotonic() - started
    torch.set_num_threads(1)  # two queries at a time on a core each beat one on both
    server = Server(application(models))
    if task.seconds is not None:
        timer = threading.Timer(task.seconds, lambda: setattr(server, "should_exit", True))
        timer.daemon = True  # or Ctrl-C would wait for it
        timer.start()
    with contextlib.suppress(KeyboardInterrupt, Stopped):  # the way to end it
        server.run(sockets=[listening])
    row = {"models": len(models), "load_seconds": loaded, "requests": server.server_state.total_requests}
    result = Result("explore", "explorer/models", {"explorer": row})
    shown, answered = counted(len(models), "model"), counted(server.server_state.total_requests, "request")
    result.verdict = f"The explorer showed {shown} and answered {answered}."
    return result


def listen(port: int) -> socket.socket:
    """A socket on this machine only."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, UNREAD)
    try:
        sock.bind((HOST, port))
    except OSError as error:
        raise AtdError(f"task.port={port}: {error.strerror}; another explorer? task.port=0 takes a free one") from None
    return sock


def checkpoints(cfg: DictConfig, newest: int) -> list[Path]:
    """What the user named, or the newest runs that left a model."""
    if cfg.checkpoint is not None:
        named = [cfg.checkpoint] if isinstance(cfg.checkpoint, str) else list(cfg.checkpoint)
        return [Path(path) for path in named]
    found = sorted(Path(cfg.paths.outputs).glob("*/*/checkpoints/atd/best.ckpt"), key=lambda p: p.stat().st_mtime)
    if not found:
        raise AtdError(f"checkpoint=null: no run with a model under {cfg.paths.outputs}; give checkpoint=<run folder>")
    return [path.parents[2] for path in found[-newest:][::-1]]


def opened(path: Path) -> Queries:
    from tasks.explore.queries import Queries

    trained = load(path)
    if not isinstance(trained.model, MultiplicativeLM) or isinstance(trained.model, UnsharedLM):
        raise AtdError(f"checkpoint={path}: the explorer shows model=atd and model=paper with one vocabulary")
    file = find_checkpoint(path)
    run = file.parents[2] if file.parent.parent.name == "checkpoints" else None
    return Queries(trained, "/".join((run or file).parts[-2:]), run or file.parent)
