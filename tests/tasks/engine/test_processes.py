"""How many processes a job has, and which of them this one is."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hydra import compose, initialize_config_dir

from atd.errors import AtdError
from tasks.engine import processes

CONF = Path(__file__).parent.parent.parent.parent / "conf"


def configured(*overrides: str):
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("config", list(overrides))


def test_the_number_of_processes_must_fit(monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "x")
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(AtdError, match=r"num_nodes = 2, but 4 processes were started"):
        processes.must_launch(configured("trainer=ddp_cpu"))
    monkeypatch.delenv("TORCHELASTIC_RUN_ID")
    with pytest.raises(AtdError, match="torchrun or srun"):
        processes.must_launch(configured("trainer=ddp_cpu", "trainer.num_nodes=2"))
    assert processes.must_launch(configured("trainer=ddp_cpu")) and not processes.must_launch(configured())
    monkeypatch.setattr(torch.accelerator, "device_count", lambda: 0)
    with pytest.raises(AtdError, match="0 GPUs found"):
        processes.must_launch(configured("trainer=ddp"))


def test_slurm_says_which_rank_this_is(monkeypatch):
    monkeypatch.setenv("SLURM_PROCID", "3")
    monkeypatch.setenv("SLURM_NTASKS", "8")
    assert (processes.rank(), processes.world_size()) == (0, 1)  # in the batch script itself, not under srun
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "8")
    assert (processes.rank(), processes.world_size()) == (3, 8)
