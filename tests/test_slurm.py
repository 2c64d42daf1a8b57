"""A real Slurm of one node, started for this test: jobs that are preempted in the middle end as if nothing happened."""

from __future__ import annotations

import getpass
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol", "squeue")
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
CONFIG = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
MpiDefault=none
KillWait=5
SchedulerParameters=sched_interval=2,batch_sched_delay=1,bf_interval=2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 CoresPerSocket=2 RealMemory=6000
PartitionName=test Nodes={host} Default=YES MaxTime=60 State=UP
"""
# A few hundred short steps: long enough to be interrupted, small enough to be quick.
TINY = ["model.K=8", "model.F=8", "model.D=3", "optim.samples=0", "optim.lr=0.003", "trainer.threads=1"]
TINY += [
    "trainer.max_epochs=40",
    "trainer.min_steps=0",
    "trainer.patience=40",
    "trainer.checkpoint_every=7",
    "logger=none",
]
JOB = ["hydra.launcher.cpus_per_task=1", "hydra.launcher.mem_gb=2", "hydra.launcher.timeout_min=20"]


def wait_for(what: str, ready: Callable[[], bool], seconds: float, logs: Path) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            tails = [f"{p.name}: {p.read_text(errors='replace')[-1500:]}" for p in sorted(logs.glob("**/*.log"))]
            tails += [f"{p.name}: {p.read_text(errors='replace')[-1500:]}" for p in sorted(logs.glob("**/*_log.*"))]
            pytest.fail(f"waited {seconds:.0f} s for {what}\n" + "\n".join(tails))
        time.sleep(0.2)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory) -> Iterator[dict[str, str]]:
    """The environment in which Slurm's commands reach the cluster of this test."""
    if not os.environ.get("ATD_SLURM"):
        pytest.skip("minutes of cluster start-up: run by .ci/slurm, or with ATD_SLURM=1")
    missing = [program for program in PROGRAMS if shutil.which(program, path=PATH) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}: apt-get install slurm-wlm munge")
    if os.geteuid() != 0:
        pytest.skip("needs root: Slurm's daemons change users")
    folder, host = tmp_path_factory.mktemp("slurm"), socket.gethostname().split(".")[0]
    for name in ("state", "spool"):
        (folder / name).mkdir()
    folder.chmod(0o755)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    ports = [free_port(), free_port()]
    (folder / "slurm.conf").write_text(CONFIG.format(host=host, folder=folder, user=getpass.getuser(), ports=ports))
    environment = {**os.environ, "PATH": PATH, "SLURM_CONF": str(folder / "slurm.conf")}
    munge = ["munged", "--foreground", "--force", f"--socket={folder}/munge.socket", f"--key-file={key}"]
    munge += [f"--{kind}-file={folder}/munge.{kind}" for kind in ("pid", "log", "seed")]
    daemons: list[subprocess.Popen] = []

    def start(command: list[str]) -> None:
        log = (folder / f"{command[0]}.log").open("w")
        daemons.append(subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT))

    def state() -> str:
        return subprocess.run(["sinfo", "-h", "-o", "%T"], env=environment, capture_output=True, text=True).stdout

    try:
        start(munge)
        wait_for("munged", (folder / "munge.socket").exists, 10, folder)
        start(["slurmctld", "-D"])
        start(["slurmd", "-D", "-N", host])
        wait_for("an idle node", lambda: "idle" in state(), 40, folder)
        yield environment
    finally:
        subprocess.run(["scancel", "--full", f"--user={getpass.getuser()}"], env=environment, timeout=20)
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.wait(20)


def reason(job: str, environment: dict[str, str]) -> str:
    """Why a job waits. Slurm keeps a requeued one for two minutes, in case its node is broken: BeginTime."""
    command = ["squeue", "--noheader", "--format=%r", f"--jobs={job}"]
    return subprocess.run(command, env=environment, capture_output=True, text=True).stdout


def test_a_multirun_of_four_jobs_of_which_two_are_preempted(slurm, places, tmp_path):
    """Jobs 0 and 1 are the same, and 2 and 3; 1 is told to go (SIGUSR2), 3 is requeued by the cluster."""
    out = tmp_path / "multirun"
    command = [sys.executable, "run.py", "-m", "cluster=slurm", f"hydra.sweep.dir={out}", "seed=1,1,2,2"]
    with (tmp_path / "run.log").open("w") as log:
        run = subprocess.Popen([*command, *places, *TINY, *JOB], cwd=ROOT, env=slurm, stdout=log, stderr=log)
    orders = {1: ["scancel", "--signal=USR2"], 3: ["scontrol", "requeue"]}
    try:
        for n, order in orders.items():
            training = out / str(n) / "checkpoints" / "atd" / "last.ckpt"
            wait_for(f"job {n} to train", training.exists, 300, tmp_path)
            job = next((out / ".submitit").glob(f"*_{n}")).name
            sender = subprocess.Popen([*order, job], env=slurm)
            wait_for(f"job {n} to be requeued", lambda job=job: "BeginTime" in reason(job, slurm), 60, tmp_path)
            sender.kill()  # scancel repeats a signal until the job answers, but it has left
            sender.wait()
            assert not (out / str(n) / "metrics.json").exists(), "the job ended before it could be interrupted"
            subprocess.run(["scontrol", "update", f"JobId={job}", "StartTime=now"], env=slurm, check=True)
        wait_for("the multirun to end", lambda: run.poll() is not None, 400, tmp_path)
    finally:
        run.kill()
        run.wait()
    assert run.returncode == 0, (tmp_path / "run.log").read_text()[-3000:]
    metrics = [json.loads((out / str(n) / "metrics.json").read_text())["rows"] for n in range(4)]
    assert metrics[0] == metrics[1] and metrics[2] == metrics[3] and metrics[0] != metrics[2]
    logs = {n: "".join(p.read_text() for p in (out / ".submitit").glob(f"*_{n}/*_log.*")) for n in range(4)}
    assert "SIGUSR2: saved step" in logs[1], logs[1][-2000:]
    assert "SIGTERM: saved step" in logs[3], logs[3][-2000:]
    assert "4 complete" in (out / "report.html").read_text()


def test_a_search_runs_its_trials_as_jobs(slurm, places, tmp_path):
    out = tmp_path / "sweep"
    command = [sys.executable, "run.py", "cluster=slurm", "sweep=tpe", "sweep.trials=3", "sweep.parallel=2"]
    command += [f"sweep.folder={out}", "optim.lr=tag(log,interval(1e-3,1e-1))", *places, *JOB]
    command += [line for line in TINY if not line.startswith(("optim.lr", "trainer.max"))] + ["trainer.max_epochs=2"]
    done = subprocess.run(command, cwd=ROOT, env=slurm, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr[-3000:]
    summary = json.loads((out / "summary.json").read_text())
    assert [t["state"] for t in summary["trials"]] == ["complete"] * 3
    logs = list((out / ".submitit").glob("*/*_log.out"))  # a batch of two, and one
    assert len(logs) == 3 and all("Job completed successfully" in path.read_text() for path in logs)
