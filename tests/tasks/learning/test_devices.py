"""Every model that a task trains trains, validates and infers on a device that is not the CPU.

A tensor that was made on the CPU and forgotten there is an error, as it would be on a GPU; see pretend_gpu.py. Every
test is a process that no other test has worked in: PyTorch makes a thread for such a device before it first goes back
through a graph or never, and a process with that thread can be forked no more.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable

import lightning
import pytest
import torch
from lightning.pytorch.strategies import SingleDeviceStrategy
from small_runs import cached, run_small, small_world

from tasks.learning import training
from tasks.learning.corpora import open_corpus
from tasks.learning.inference import predict
from tasks.learning.language_model import language_model

QUIET = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}


CLEAN = multiprocessing.get_context("forkserver")  # forks of one that has the libraries and did nothing with them
CLEAN.set_forkserver_preload(["lightning.pytorch", "hydra", "pyarrow", "matplotlib.figure", "tasks.attributes"])


def apart(function: Callable[..., object], *given: object) -> None:
    process = CLEAN.Process(target=function, args=given)
    process.start()
    process.join()
    assert process.exitcode == 0


def placed() -> SingleDeviceStrategy:
    from pretend_gpu import DEVICE, PretendAccelerator

    return SingleDeviceStrategy(DEVICE, PretendAccelerator())


class Done(Exception):
    """In place of the rest of a task."""


def train_on_the_device(module, data, *_) -> None:
    """Two steps at most and a batch of validation, by Lightning; given what `train` is given."""
    from pretend_gpu import PretendGPU

    few = {"max_epochs": 1, "limit_train_batches": 2, "limit_val_batches": 1, "num_sanity_val_steps": 0}
    trainer = lightning.Trainer(strategy=placed(), **few, **QUIET)
    data.trainer = None
    with PretendGPU():
        trainer.fit(module, datamodule=data)
    assert trainer.global_step
    raise Done


def start_training(words, cache, out) -> None:
    training.train = train_on_the_device
    with small_world(cache=cache), pytest.raises(Done):
        run_small(words.split(), out)


def compare_inference(words, places, cache) -> None:
    """With the CPU's: the same numbers."""
    from pretend_gpu import DEVICE, PretendGPU

    cfg = cached([*places, "model.K=12", "model.F=12", "model.D=6"], cache, *words.split())
    data = open_corpus(cfg)
    model = language_model(dict(cfg.model), data, cfg, 0).model
    given = (*data.encoded["test"].flat, dict(cfg.inference))
    quiet = {"enable_progress_bar": False, "inference_mode": False}
    expected = predict(model, *given, accelerator="cpu", **quiet)
    with PretendGPU():
        found = predict(model.to(DEVICE), *given, strategy=placed(), **quiet)
        torch.testing.assert_close(found.x, expected.x)


def mix_devices() -> None:
    from pretend_gpu import DEVICE, PretendGPU

    with PretendGPU():
        a = torch.ones(3, device=DEVICE)
        assert (a + 1).device == DEVICE and (a * torch.tensor(2.0)).sum().item() == 6
        with pytest.raises(AssertionError, match=r"a tensor of the CPU, \(3,\)"):
            a + torch.ones(3)
        with pytest.raises(AssertionError, match=r"a tensor of the CPU, \(1,\)"):
            a[torch.tensor([0])]


def test_a_tensor_of_the_cpu_may_not_meet_those_of_the_device():
    apart(mix_devices)


@pytest.mark.parametrize(
    "words",
    [
        "optim.samples=0",
        "optim.samples=50",
        "optim=sgd",
        "optim=adagrad model.sparse=true",
        "model=paper",
        "model=mixture",
        "model=tensor",
        "task=languages",
        "task=kinship",
        "task=crosslingual",
        "task=crosslingual task.rows=[atd+]",
        "task=sentiment task.rows=[lbl]",
        "task=sentiment task.rows=[atd-tree]",
        "task=sentiment task.rows=[atd-context]",
    ],
)
def test_training(words, cache, tmp_path):
    apart(start_training, words, cache, tmp_path)


@pytest.mark.parametrize("words", ["inference=convex", "inference.samples=20", "inference=sgd", "model=paper"])
def test_inference(words, places, cache):
    apart(compare_inference, words, places, cache)
