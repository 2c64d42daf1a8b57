"""Peak memory of a function, measured in a forked process of its own."""

from __future__ import annotations

import ctypes
import multiprocessing
from collections.abc import Callable
from pathlib import Path

import torch

from atd.errors import AtdError
from tasks.benchmark.lm import naive_step, our_step
from tasks.benchmark.measure import Bench, row


def peak(prepare: Callable[[], Callable[[], object]], device: torch.device) -> float:
    """Bytes that the prepared function needs at its peak, beyond those in use before it was prepared."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        prepare()()
        return torch.cuda.max_memory_allocated() - before
    if not Path("/proc/self/clear_refs").exists():
        raise AtdError("benchmark.only: peak memory needs Linux or a GPU; leave memory_v100k and growth out")
    context = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(duplex=False)
    child = context.Process(target=_measure, args=(prepare, writer))
    child.start()
    writer.close()
    try:
        return reader.recv()
    except EOFError:
        raise AtdError("benchmark: the process that measured memory died, probably for lack of it") from None
    finally:
        child.join()


def _measure(prepare: Callable[[], Callable[[], object]], writer) -> None:
    torch.set_num_threads(1)  # threads do not survive a fork
    ctypes.CDLL(None).malloc_trim(0)
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark
    prepare()()
    writer.send(float(_status("VmHWM") - before))


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return 1024 * int(line.split()[1])
    raise AtdError(f"/proc/self/status has no {field}")


def exact_v100k(bench: Bench) -> dict[str, dict[str, float]]:
    """Model, gradients, momentum and everything the step makes, at a batch of 4,096 and 100,000 words."""
    V, B = bench.size(100_000, 30_000), bench.size(4096, 2048)
    ours = peak(lambda: our_step(bench.device, V=V, B=B), bench.device)
    naive = peak(lambda: naive_step(bench.device, V=V, B=B), bench.device)
    return {"memory_v100k": row([ours / naive], 0.2, at_most=True, megabytes=ours / 1e6, rival_megabytes=naive / 1e6)}
