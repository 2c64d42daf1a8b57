"""A corpus under Lightning: cached once, resumed to the batch, shared among processes."""

from __future__ import annotations

from pathlib import Path

import lightning
import numpy as np
import pyarrow as pa
import pytest
import torch

from atd.encoded import EncodedCorpus
from atd.errors import AtdError
from datamodules.corpus import Corpus
from datamodules.encode import encode

torch.set_num_threads(1)


class Lines(Corpus):
    """One document per line of a file, every tenth line held out."""

    built = 0

    def inputs(self):
        return [self.path]

    def build(self):
        Lines.built += 1
        lines = self.path.read_text().splitlines()
        split = np.sort(np.arange(len(lines)) % 10 // 8 * (1 + np.arange(len(lines)) % 2)).astype(np.int8)
        ids, offsets, vocabulary = encode(pa.array(lines), self.tokeniser, None, self.min_count, self.max_size)
        meta = {"vocabulary": vocabulary.state(), "attributes": ["only"]}
        return EncodedCorpus(ids, offsets, np.zeros(len(lines), np.int32), {"split": split}, meta)


@pytest.fixture
def lines(tmp_path) -> Lines:
    return corpus(tmp_path)


def corpus(folder: Path, **settings) -> Lines:
    path = folder / "text.txt"
    if not path.exists():
        path.write_text("\n".join(f"w{i} w{i + 1} w{i + 2}" for i in range(100)))
    common = {"name": "lines", "context": 2, "batch_size": 24, "seed": 3, "cache": folder / "cache"}
    return Lines(path=path, **common | settings)


class Recorder(lightning.LightningModule):
    """Notes the targets of every batch; its one weight depends on their order."""

    def __init__(self, asks_steps: bool = False):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.asks_steps = asks_steps
        self.seen: list[tuple[int, list[int]]] = []

    def training_step(self, batch):
        self.seen.append((self.current_epoch, batch.target.tolist()))
        return (self.weight * batch.target.float().mean() / 100 - 1).square().mean()

    def validation_step(self, batch):
        pass

    def configure_optimizers(self):
        if self.asks_steps:
            assert self.trainer.estimated_stepping_batches > 0
        return torch.optim.SGD(self.parameters(), lr=0.1)


def trainer(folder: Path, **settings) -> lightning.Trainer:
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu"}
    return lightning.Trainer(default_root_dir=folder, enable_checkpointing=False, **quiet | settings)


class Save(lightning.Callback):
    def __init__(self, step: int, path: Path):
        self.step, self.path = step, path

    def on_train_batch_end(self, trainer, module, *args):
        if trainer.global_step == self.step:
            trainer.save_checkpoint(self.path)


def test_encoded_once_and_split(lines):
    before = Lines.built
    for _ in range(2):
        lines.prepare_data()
        lines.setup()
        lines.setup()
    assert Lines.built == before + 1
    assert {name: len(part) for name, part in lines.encoded.items()} == {"train": 80, "val": 10, "test": 10}
    assert lines.attributes == ["only"] and "w7" in lines.vocabulary
    assert lines.vocabulary.decode(lines.tokens("W7 never w8")) == ["w7", "<unk>", "w8"]
    assert lines.train_dataloader().examples == 240 and len(lines.val_dataloader()) == 2


def test_rebuild_happens_once(tmp_path):
    before = Lines.built
    corpus(tmp_path).prepare_data()
    again = corpus(tmp_path, rebuild=True)
    again.prepare_data()
    again.prepare_data()
    assert Lines.built == before + 2


def test_nothing_held_out_is_an_error(tmp_path):
    (tmp_path / "text.txt").write_text("one\ntwo")
    small = corpus(tmp_path)
    small.prepare_data()
    with pytest.raises(AtdError, match="data=lines: no text for val"):
        small.setup()


@pytest.mark.parametrize("step", [4, 10, 14])  # the epoch has 10 steps
@pytest.mark.parametrize("asks_steps", [False, True])
def test_resumed_equals_uninterrupted(tmp_path, step, asks_steps):
    """Also when the loader is asked for before the checkpoint is read, where Lightning alone would start over."""
    path = tmp_path / "saved.ckpt"
    whole = Recorder(asks_steps)
    trainer(tmp_path, max_epochs=3, callbacks=[Save(step, path)]).fit(whole, corpus(tmp_path))
    rest = Recorder(asks_steps)
    trainer(tmp_path, max_epochs=3).fit(rest, corpus(tmp_path), ckpt_path=path, weights_only=True)
    assert len(whole.seen) == 30
    assert rest.seen == whole.seen[step:]
    assert torch.equal(rest.weight, whole.weight)


def test_every_epoch_has_its_own_order(tmp_path):
    module = Recorder()
    trainer(tmp_path, max_epochs=2).fit(module, corpus(tmp_path))
    first, second = ([t for e, b in module.seen if e == epoch for t in b] for epoch in (0, 1))
    assert first != second and sorted(first) == sorted(second)


class RankRecorder(Recorder):
    def __init__(self, folder: Path):
        super().__init__()
        self.folder = str(folder)

    def on_train_end(self):
        torch.save(self.seen, f"{self.folder}/rank{self.global_rank}.pt")


def test_two_processes_share_every_batch(tmp_path):
    alone = Recorder()
    trainer(tmp_path, max_epochs=2).fit(alone, corpus(tmp_path, batch_size=23))
    settings = {"strategy": "ddp_fork", "devices": 2, "use_distributed_sampler": False}
    trainer(tmp_path, max_epochs=2, **settings).fit(RankRecorder(tmp_path), corpus(tmp_path, batch_size=23))
    ranks = [torch.load(tmp_path / f"rank{r}.pt", weights_only=True) for r in (0, 1)]
    assert [(e, a + b) for (e, a), (_, b) in zip(*ranks, strict=True)] == alone.seen
