"""Two processes over Gloo train what one process with the same global batch does, and leave what one leaves.

The processes are forked from this one, which has paid for the imports; `run.py` itself is started once, as a multirun.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from hydra import compose, initialize_config_dir
from lightning.pytorch.callbacks import Callback

from atd.attributes import AttributeTable
from atd.errors import AtdError
from tasks.engine import processes
from tasks.learning.corpora import open_corpus
from tasks.learning.evaluation import perplexity
from tasks.learning.language_model import language_model
from tasks.learning.training import fit, train

ROOT = Path(__file__).parent.parent
SMALL = [
    "trainer.precision=32-true",  # in bf16 a sum in another order shows
    "model.dropout=0",
    "model.K=12",
    "model.F=12",
    "model.D=6",
    "model.context=3",
    "data.batch_size=2039",
    "optim.samples=100",
]
SMALL += [
    "trainer.threads=1",
    "trainer.max_epochs=2",
    "trainer.min_steps=0",
    "trainer.checkpoint_every=5",
    "logger=csv",
    "task.words=5",
]


def configured(*overrides: str):
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return compose("config", [*SMALL, *overrides])


def on_two(function: Callable[[], object], seconds: float = 60) -> None:
    """Run it on rank 0 of two forked processes, the other serving; both must end well and in time."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def main(rank: int) -> None:
        own = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2, "GROUP_RANK": 0}
        own |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "TORCHELASTIC_RUN_ID": "test"}
        os.environ.update({k: str(v) for k, v in own.items()})
        if rank:
            processes.serve()
        else:
            processes.connect()
            function()
            processes.dismiss()

    ranks = [multiprocessing.get_context("fork").Process(target=main, args=(r,)) for r in range(2)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join(seconds)
    late = [process for process in ranks if process.is_alive()]
    for process in late:
        process.kill()
    assert not late, "still running"
    assert [process.exitcode for process in ranks] == [0, 0]


class KeepHalfway(Callback):
    """Copy the checkpoints as they are after `step` steps: what a kill would leave."""

    def __init__(self, folder: Path, copy: Path, step: int):
        self.folder, self.copy, self.step = folder, copy, step

    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        if trainer.global_step == self.step and trainer.is_global_zero and self.folder.exists():
            shutil.copytree(self.folder, self.copy, dirs_exist_ok=True)


def trained(cfg, out: Path, *callbacks: Callback) -> None:
    """Fit a model; its curve, weights and exact test perplexity go to files, for the test to compare."""
    data = open_corpus(cfg)
    module = language_model(dict(cfg.model), data, cfg, cfg.seed)
    curve = fit(module, data, cfg, out, "atd", callbacks=callbacks)
    after = perplexity(module, data.test_dataloader())  # would wait for ever if rank 0 were not alone again
    torch.save({"curve": curve, "weights": module.model.state_dict(), "test": after}, out / "result.pt")


def result(out: Path) -> dict:
    return torch.load(out / "result.pt", weights_only=True)


VARIANTS = {
    "sampled softmax, Adam": [],
    "the paper's model": ["model=paper"],
    "exact softmax, the paper's SGD, accumulated": ["optim=sgd", "optim.samples=0", "trainer.accumulate=2"],
    "row-sparse attribute table": ["optim=adagrad", "model.sparse=true"],
    "sharded": ["trainer=fsdp", "trainer.accelerator=cpu", "trainer.precision=32-true"],
}


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> Callable[[str], dict]:
    """Results of one process, computed when first asked for."""
    done: dict[str, dict] = {}

    def get(name: str) -> dict:
        overrides = [o for o in VARIANTS[name] if not o.startswith("trainer=")]
        if " ".join(overrides) not in done:
            out = tmp_path_factory.mktemp("alone")
            trained(configured(*overrides), out)
            done[" ".join(overrides)] = result(out)
        return done[" ".join(overrides)]

    return get


@pytest.mark.parametrize("name", VARIANTS)
def test_two_processes_train_what_one_does(name, alone, tmp_path):
    cfg = configured("trainer=ddp_cpu", *VARIANTS[name], "trainer.devices=2")
    on_two(lambda: trained(cfg, tmp_path))
    one, two = alone(name), result(tmp_path)
    assert len(one["curve"]) == len(two["curve"]) == 2
    for a, b in zip(one["curve"], two["curve"]):
        assert a.keys() == b.keys() and a == pytest.approx(b, rel=1e-4)
    assert two["test"] == pytest.approx(one["test"], rel=1e-4)
    for key, weights in one["weights"].items():
        torch.testing.assert_close(two["weights"][key], weights, rtol=1e-3, atol=1e-3)
    left = {p.name for p in (tmp_path / "checkpoints/atd").iterdir()}
    assert left == {"before.ckpt", "best.ckpt", "finished.json", "last.ckpt"}


def test_a_run_killed_mid_epoch_resumes_on_two_or_on_one(tmp_path):
    whole, halfway, again = tmp_path / "whole", tmp_path / "halfway", tmp_path / "again"
    keep = KeepHalfway(whole / "checkpoints", halfway / "checkpoints", 17)
    on_two(lambda: trained(configured("trainer=ddp_cpu"), whole, keep))
    at = torch.load(halfway / "checkpoints/atd/last.ckpt", weights_only=True)
    batches = at["loops"]["fit_loop"]["epoch_loop.batch_progress"]["current"]["completed"]
    assert at["global_step"] == 15 and batches > 0
    shutil.copytree(halfway, again)
    on_two(lambda: trained(configured("trainer=ddp_cpu", f"resume={halfway}"), halfway))
    trained(configured(f"resume={again}"), again)
    for key, weights in result(whole)["weights"].items():
        assert torch.equal(result(halfway)["weights"][key], weights)
        torch.testing.assert_close(result(again)["weights"][key], weights, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_attribute_table_exchanges_rows_not_itself(sparse, tmp_path):
    """The gradient is that of the whole batch; what is sent does not grow with the number of attributes."""
    D, most, sent = 4, 5, []
    ids = torch.tensor([[3, 1], [3, 0], [7, 7], [2, 9], [1, 1], [0, 4], [5, 8], [6, 6], [9, 3]])  # 9 texts, M = 2

    def gradient(A: int, part: torch.Tensor, most: int | None) -> torch.Tensor:
        torch.manual_seed(0)
        table = AttributeTable(A, D, "identity", sparse)
        table.share_rows(most)
        weights = torch.arange(len(part))[:, None] + float(part.sum())  # differs between texts and ranks
        (table(part) * weights).sum().backward()
        assert table.L.grad.is_sparse == sparse
        return table.L.grad.to_dense()

    def measured() -> None:
        gather = dist.all_gather_single

        def counted(output, part):
            sent[-1] += part.nbytes
            return gather(output, part)

        dist.all_gather_single = counted
        mine = ids[:4] if dist.get_rank() == 0 else ids[4:]  # 4 and 5 texts
        for A in (10, 100_000):
            sent.append(0)
            expected = (gradient(A, ids[:4], None) + gradient(A, ids[4:], None)) / 2
            torch.testing.assert_close(gradient(A, mine, most), expected)
        assert sent[0] == sent[1] == most * 2 * (D * 4 + 8)

    calls["measured"] = measured
    on_two(lambda: processes.together(call, "measured"))


calls: dict[str, Callable[[], None]] = {}  # forked processes share it, so that a call can be a closure


def call(name: str) -> None:
    calls[name]()


class TableApart(Callback):
    """DDP was told to leave the attribute table alone, and its buckets are too small to hold it."""

    def on_train_start(self, trainer, module):
        ddp = trainer.strategy.model
        assert ddp.parameters_to_ignore == {"model.attributes.L"}
        buckets = sum(map(int, ddp._get_ddp_logging_data()["bucket_sizes"].split(",")))
        learned = {name: p for name, p in module.model.named_parameters() if p.requires_grad}
        assert buckets == 4 * sum(p.numel() for name, p in learned.items() if name != "attributes.L")

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        trainer.should_stop = True  # one step says as much as an epoch


def test_a_long_table_is_kept_from_ddp(tmp_path):
    cfg = configured("trainer=ddp_cpu", "trainer.max_epochs=1")

    def wide() -> None:
        data = open_corpus(cfg)
        data.attributes.extend(f"more {i}" for i in range(100_000))
        fit(language_model(dict(cfg.model), data, cfg, cfg.seed), data, cfg, tmp_path, "atd", callbacks=(TableApart(),))

    on_two(wide)


def test_one_rank_failing_ends_the_other():
    def fails() -> None:
        raise AtdError("on purpose")

    calls["fails"] = fails

    def run() -> None:
        with pytest.raises(AtdError, match="on purpose"):
            processes.together(call, "fails")
        os._exit(0)

    with pytest.raises(AssertionError, match=r"\[0, 2\]"):
        on_two(run, 20)


def test_a_multirun_on_two_processes_leaves_what_one_process_leaves(tmp_path):
    command = [sys.executable, "run.py", "-m", "seed=0,1", *SMALL, "trainer=ddp_cpu", "trainer.max_epochs=1"]
    command += ["logger=wandb", "logger.mode=offline", f"hydra.sweep.dir={tmp_path}"]
    environment = {**os.environ, "WANDB_DATA_DIR": str(tmp_path / "staged"), "WANDB_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("atd epoch 1") == 2 and done.stdout.count("/report.html") == 3  # two jobs and the sum
    values = []
    for job in ("0", "1"):
        out = tmp_path / job
        metrics = json.loads((out / "metrics.json").read_text())
        values.append(metrics["value"])
        assert set(metrics["rows"]) == {"atd", "no-attributes", "lbl", "kneser-ney"}
        assert (out / "report.html").exists() and "run.py -m seed=0,1" in (out / "report.html").read_text()
        assert len(list(out.glob("wandb/offline-run-*"))) == 1
        assert len(list(out.glob("checkpoints/*/best.ckpt"))) == 3
    assert values[0] != values[1]
    assert {p.name for p in tmp_path.iterdir() if (p / "metrics.json").exists()} == {"0", "1"}


class Stopwatch(Callback):
    """Seconds that steps 10 to 60 take, written to a file; then training ends."""

    def __init__(self, file: Path):
        self.file, self.since = file, 0.0

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if trainer.global_step == 10:
            self.since = time.perf_counter()
        elif trainer.global_step == 60:
            if trainer.is_global_zero:
                self.file.write_text(str(time.perf_counter() - self.since))
            trainer.should_stop = True


@pytest.mark.slow
@pytest.mark.parametrize("samples, batch", [(0, 4096), (1000, 16384)], ids=["exact", "sampled"])
def test_two_processes_are_faster_than_one(samples, batch, real_data, tmp_path):
    """On two quiet cores: pytest -m slow tests/test_ddp.py -k faster -s"""
    size = ["data=gutenberg", f"data.batch_size={batch}", "model.K=100", "model.F=100", "model.D=50", "model.context=5"]
    size += [f"optim.samples={samples}", "trainer.checkpoint_every=100000", "logger=none", f"paths.data={real_data}"]
    configs = {1: configured(*size), 2: configured("trainer=ddp_cpu", *size)}
    data = open_corpus(configs[1])
    ratios = []
    for turn in range(3):
        took = {}
        for n, cfg in configs.items():
            file, folder = tmp_path / f"{turn}-{n}", tmp_path / f"fit-{turn}-{n}" / "checkpoints" / "atd"
            module = language_model(dict(cfg.model), data, cfg, cfg.seed)
            arguments = (module, data, cfg, folder, "atd", "val/perplexity", "min", (Stopwatch(file),))
            if n == 1:
                train(*arguments)
                data.trainer = None
            else:
                on_two(lambda arguments=arguments: processes.together(train, *arguments), 300)
            took[n] = float(file.read_text())
        ratios.append(took[1] / took[2])
        print(f"\none process {took[1]:.2f} s, two {took[2]:.2f} s: {ratios[-1]:.2f} times as fast", end="")
    assert sorted(ratios)[1] >= 1.6
