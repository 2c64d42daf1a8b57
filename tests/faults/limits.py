"""Many cases of a function, in child processes with limits on time and memory: each is read, refused or lost.

A child works through the cases one after another. Where it crashes or hangs, that case is lost, and a new child goes on
with the next. Refused means: one line of AtdError that names what is wrong.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import resource
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import pyarrow as pa

from atd.errors import AtdError
from tests.faults.fault import Fault

READ, REFUSED, LOST = "read", "refused", "lost"
PATIENCE = 6  # times the seconds, for one that waits and does not work
BATCH = 1000  # cases of a child
LONGEST = 1000  # letters of a line that says what is wrong
FORK = multiprocessing.get_context("fork")  # a function of any kind, and nothing to import anew


@dataclass(frozen=True)
class Limits:
    seconds: float = 10.0  # of work on a case: on a machine that is shared it may take longer
    growth: int = 1 << 30  # bytes that a case may use more than there were before it
    ceiling: int = 4 << 30  # bytes of addresses beyond which nothing is given: the machine must live


@dataclass(frozen=True)
class Outcome:
    case: int
    kind: str  # READ, REFUSED or LOST
    what: str = ""  # the line it was refused with, or how it was lost


def outcomes(
    trial: Callable[[int], object], cases: Iterable[int], named: str, limits: Limits | None = None
) -> Iterator[Outcome]:
    """What became of `trial(case)` for every case. A refusal must hold `named`, the file or folder at fault."""
    limits = limits or Limits()
    left = list(cases)
    while left:
        done = 0
        for outcome in _batch(trial, left[:BATCH], named, limits):
            done += 1
            yield outcome
        left = left[done:]


def record(fault: Fault, found: Iterable[Outcome], again: str) -> Fault:
    """Outcomes as tries of a fault; `again`, with {case}, is the command that repeats one."""
    kinds = {READ: 0, REFUSED: 0, LOST: 0}
    for outcome in found:
        kinds[outcome.kind] += 1
        lost = f"case {outcome.case}: {outcome.what}; again: {again.format(case=outcome.case)}"
        fault.tried(lost if outcome.kind == LOST else None)
    fault.note = f"{kinds[READ]:,} read, {kinds[REFUSED]:,} refused"
    return fault


def _batch(trial: Callable[[int], object], cases: Sequence[int], named: str, limits: Limits) -> Iterator[Outcome]:
    """The outcomes of one child: of all cases, or up to the one that ends it."""
    here, there = FORK.Pipe(duplex=False)
    child = FORK.Process(target=_serve, args=(trial, cases, named, limits, there), daemon=True)
    child.start()
    there.close()
    try:
        for case in cases:
            if not here.poll(limits.seconds * PATIENCE):
                yield Outcome(case, LOST, f"hang: no end after {limits.seconds * PATIENCE:g} s, most of them idle")
                return
            try:
                yield here.recv()
            except EOFError:
                child.join()
                yield Outcome(case, LOST, _ending(child.exitcode))
                return
    finally:
        child.kill()
        child.join()
        here.close()


def _ending(code: int | None) -> str:
    if code == -signal.SIGPROF:
        return "hang: no end after all the time it had"
    return (
        "crash: " + signal.Signals(-code).name
        if code is not None and code < 0
        else f"crash: the process ended with {code}"
    )


def _serve(trial: Callable[[int], object], cases: Sequence[int], named: str, limits: Limits, pipe: Connection) -> None:
    faulthandler.disable()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    pa.set_memory_pool(pa.system_memory_pool())  # the usual one keeps addresses that it had once
    addresses = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    ceiling = addresses + limits.ceiling
    resource.setrlimit(resource.RLIMIT_AS, (ceiling, ceiling))
    for case in cases:
        pipe.send(_tried(trial, case, named, limits))


def _tried(trial: Callable[[int], object], case: int, named: str, limits: Limits) -> Outcome:
    before = _top()
    signal.setitimer(signal.ITIMER_PROF, limits.seconds)  # then a signal ends the child
    try:
        trial(case)
        outcome = Outcome(case, READ)
    except Exception as error:
        wrong = _unclean(error, named)
        outcome = Outcome(case, LOST, wrong) if wrong else Outcome(case, REFUSED, str(error))
    growth = _top() - before
    if growth > limits.growth / 10:
        Path("/proc/self/clear_refs").write_text("5")  # the most memory counts anew from here
    if growth > limits.growth:
        return Outcome(case, LOST, f"growth: {growth / 2**30:.1f} GB more than before")
    return outcome


def _top() -> int:
    """The most memory that this process had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _unclean(error: BaseException, named: str) -> str:
    """What is wrong with an error as the one line for a user; empty if nothing is."""
    message = str(error)
    if not isinstance(error, AtdError):
        return f"traceback: {type(error).__name__}: {' '.join(message.split())[:200]}"
    if any(isinstance(cause, MemoryError) and not _of_arrow(cause) for cause in _causes(error)):
        return f"growth: it asked for more memory than there is ({message[:200]})"
    if not message.isprintable():
        return f"not one clean line: {message[:200]!r}"
    if len(message) > LONGEST:
        return f"a line of {len(message):,} letters: {message[:200]}"
    if named not in message:
        return f"does not name {named}: {message[:200]}"
    return ""


def _of_arrow(error: BaseException) -> bool:
    """Arrow asks for as much as a file says, and touches no more than the file has: a lie costs nothing."""
    return type(error).__module__.startswith("pyarrow")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
