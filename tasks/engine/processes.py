"""Several processes, one job: rank 0 runs the task, the other ranks join it whenever it trains a model.

torchrun's engine starts the processes, here or on many nodes (`torchrun … run.py …`); under Slurm `srun` does. The
other ranks know no task and no configuration: each waits until rank 0 asks for a call, makes the same call, and waits
again. So a task may fit several models and evaluate between them as if it were alone; there is one output folder, one
report and one W&B run because only rank 0 has them; and the jobs of a multirun need nothing cleaned up between them.
"""

from __future__ import annotations

import atexit
import itertools
import logging
import os
import pickle
import signal
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atd.errors import AtdError
from tasks.engine.signals import Stopped

if TYPE_CHECKING:
    from omegaconf import DictConfig

PATIENCE = timedelta(days=30)  # how long a rank waits for rank 0 between two fits
ROOT = Path(__file__).parent.parent.parent

_store: Any = None  # torch.distributed.Store, once there are several processes
_calls = itertools.count()


def rank() -> int:
    """This process's number over all nodes. torchrun and srun say it in the environment."""
    if "TORCHELASTIC_RUN_ID" in os.environ:
        return int(os.environ["RANK"])
    return int(os.environ["SLURM_PROCID"]) if _slurm_tasks() > 1 else 0


def world_size() -> int:
    if "TORCHELASTIC_RUN_ID" in os.environ:
        return int(os.environ["WORLD_SIZE"])
    return _slurm_tasks()


def _slurm_tasks() -> int:
    """Tasks of this `srun` step; 1 outside of one (SLURM_NTASKS is also set where only one process was started)."""
    return int(os.environ.get("SLURM_STEP_NUM_TASKS", 1))


def devices(cfg: DictConfig) -> int:
    """Processes per node."""
    if cfg.trainer.accelerator == "cpu":
        return cfg.trainer.devices
    import torch

    found = torch.accelerator.device_count()
    wanted = found if cfg.trainer.devices == "auto" else cfg.trainer.devices
    if not found or wanted > found:
        raise AtdError(f"trainer.devices={cfg.trainer.devices}: {found} GPUs found here; trainer=ddp_cpu needs none")
    return wanted


def must_launch(cfg: DictConfig) -> bool:
    """Whether the job needs processes that nobody has started. On several nodes torchrun or srun must have."""
    nodes = cfg.trainer.num_nodes
    wanted = devices(cfg) * nodes
    if wanted == world_size():
        return False
    if world_size() > 1 or nodes > 1:
        raise AtdError(
            f"trainer.devices × trainer.num_nodes = {wanted}, but {world_size()} processes were started: they must be "
            "equal; start run.py on every node with torchrun or srun"
        )
    return True


def launch(cfg: DictConfig, out: Path) -> None:
    """Run the job whose configuration lies in `out` on as many processes as trainer.devices says."""
    from torch.distributed.elastic.multiprocessing import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)  # the rank itself says what failed
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    settings = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=devices(cfg),
        run_id=uuid.uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        local_addr="localhost",
        max_restarts=0,
        shutdown_timeout=10,
    )
    try:
        elastic_launch(settings, sys.executable)("-m", "tasks.engine.job", str(out), str(cfg.resume or ""))
    except SignalException as error:
        raise Stopped(error.sigval) from None
    except ChildFailedError as error:
        code = error.get_first_failure()[1].exitcode
        if code == 2:  # an AtdError, told in one line by the rank that met it
            sys.exit(2)
        raise AtdError(f"a process of the job ended with exit code {code}; its message is above") from None


def end_with_parent() -> None:
    """Killing run.py the hard way must not leave its ranks running."""
    import torch.multiprocessing

    set_signal: Any = torch.multiprocessing._prctl_pr_set_pdeathsig  # type: ignore[attr-defined]
    set_signal(signal.SIGKILL)


def connect() -> None:
    """Meet the other ranks, once in the life of a process. torchrun's store, or rank 0's, carries the calls."""
    global _store
    if _store is not None or world_size() == 1:
        return
    import torch.distributed as dist

    if "TORCHELASTIC_RUN_ID" not in os.environ:
        from lightning.fabric.plugins.environments import SLURMEnvironment

        slurm = SLURMEnvironment()
        os.environ |= {"MASTER_ADDR": slurm.main_address, "MASTER_PORT": str(slurm.main_port)}
    _store, _, _ = next(dist.rendezvous("env://", rank(), world_size()))
    if rank() == 0:
        atexit.register(dismiss)


def together(function: Callable, *arguments: Any) -> Any:
    """Call an importable function on every rank at once; returns what rank 0's call does."""
    if _store is None:
        return function(*arguments)
    try:
        call = pickle.dumps((function, arguments))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise AtdError(f"trainer.devices: this task trains on one process only ({error})") from None
    n = _announce(b"call")
    with group(n):
        share(call)
        return function(*arguments)


def serve() -> None:
    """What every rank but 0 does."""
    connect()
    n = 0
    try:
        while _await(n) == b"call":
            with group(n):
                function, arguments = pickle.loads(share(None))
                function(*arguments)
                del arguments
            n += 1
    except AtdError:  # rank 0 meets and tells the same
        sys.exit(2)


@contextmanager
def group(n: int) -> Iterator[None]:
    """The process group of the n-th call. There is none between calls: what evaluates there, torchmetrics for one,
    would find a group and wait for ranks that do something else."""
    import torch
    import torch.distributed as dist

    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend, store=dist.PrefixStore(f"group{n}", _store), rank=rank(), world_size=world_size())
    yield
    dist.destroy_process_group()  # not after a failure: the others notice that the connection is gone


def share(message: bytes | None) -> bytes:
    """Rank 0's message on every rank."""
    import torch.distributed as dist

    box = [message]
    dist.broadcast_object_list(box, src=0)
    assert box[0] is not None
    return box[0]


def dismiss() -> None:
    """Send the other ranks home, and stay until they have heard it: the store may be ours."""
    _announce(b"end")
    deadline = time.monotonic() + 10
    while _store.add("left", 0) < world_size() - 1 and time.monotonic() < deadline:
        time.sleep(0.02)


def _announce(what: bytes) -> int:
    n = next(_calls)
    _store.set(f"call{n}", what)
    return n


def _await(n: int) -> bytes:
    _store.wait([f"call{n}"], PATIENCE)
    what = _store.get(f"call{n}")
    if what == b"end":
        _store.add("left", 1)
    return what
