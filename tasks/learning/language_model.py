"""The LightningModule for next-word models: train on a sampled or exact softmax, validate on the exact one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import lightning
import torch
from scipy.sparse import csr_array
from torchmetrics import Metric

from atd.design import Design
from atd.joining import hold, keep_average, usage_with
from atd.lm import NextWordModel
from atd.noise import Noise
from atd.optim import PaperSchedule, PaperSGD, RowAdaGrad, parameter_groups
from atd.seeding import seeded
from atd.training import adam, exact_nll, loss_of, rates, schedule_of, start
from atd.usage import state_of
from atd.vocabulary import Vocabulary
from atd.windows import WindowBatch
from tasks.engine.groups import GROUPS, SGD, AdaGrad, Adam, Optim
from tasks.engine.settings import typed
from tasks.learning.models import load, start_at_vectors
from tasks.learning.training import LOGGED

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from datamodules.corpus import Corpus


class Perplexity(Metric):
    """exp of the mean exact negative log-likelihood, summed over batches and processes.

    torchmetrics' own needs all B×V logits at once, which the chunked softmax exists to avoid.
    """

    full_state_update = False
    higher_is_better = False
    nll: torch.Tensor
    words: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("nll", torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("words", torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")

    def update(self, nll_B: torch.Tensor, words: float | None = None) -> None:
        """One number for each word, or sums over so many `words`."""
        self.nll += nll_B.detach().double().sum()
        self.words += nll_B.numel() if words is None else words

    def compute(self) -> torch.Tensor:
        return (self.nll / self.words).exp()


class LanguageModel(lightning.LightningModule):
    """A next-word model, its vocabulary (one per language when unshared) and what its attributes are."""

    def __init__(
        self,
        model: NextWordModel,
        vocabularies: Sequence[Vocabulary],
        design: Design,
        optim: Optim,
        config: dict,
        seed: int = 0,
        tokeniser: dict | None = None,
        usage: csr_array | None = None,
    ):
        super().__init__()
        self.model = model
        self.vocabularies = list(vocabularies)
        self.design = design
        self.optim = optim
        self.config = config  # conf/model as plain values: a checkpoint rebuilds the model from it
        self.seed = seed
        self.tokeniser = tokeniser  # settings of the corpus's tokeniser, for texts that come later
        self.usage = usage  # words under each attribute (V×A)
        self.noise = torch.nn.ModuleList(Noise(v.counts) for v in vocabularies)
        self.perplexity = Perplexity()

    def setup(self, stage: str) -> None:
        """A table longer than the batch is kept from DDP and FSDP: processes exchange only the rows in use."""
        trainer: Any = self.trainer
        table, W = getattr(self.model, "attributes", None), trainer.world_size
        size = getattr(trainer.datamodule, "batch_size", None)
        self._ddp_params_and_buffers_to_ignore: list[str] = []
        if W > 1 and size and table is not None and table.L.requires_grad and (table.sparse or len(table.L) > size):
            table.share_rows(-(-size // W))
            self._ddp_params_and_buffers_to_ignore.append("model.attributes.L")

    def teardown(self, stage: str) -> None:
        if (table := getattr(self.model, "attributes", None)) is not None:
            table.share_rows(None)

    def configure_model(self) -> None:
        """Shard the model when the trainer says so; called on every process before the optimiser is made."""
        if self.device_mesh is not None:
            from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method

            table = getattr(self.model, "attributes", None)
            apart = {table.L} if table is not None and table.most else set()
            fully_shard(self.model, mesh=self.device_mesh["data_parallel"], ignored_params=apart)
            for name in ("nll", "sampled_nll", "shrinkage"):
                register_fsdp_forward_method(self.model, name)

    def seeded(self, batch_idx: int) -> torch.Generator:
        """Noise words and dropout are a function of seed and step alone: a resumed run draws the same ones."""
        accumulate = self.trainer.accumulate_grad_batches
        step = self.global_step * accumulate + batch_idx % accumulate
        return seeded(self.seed, step, self.device, self.global_rank)

    def training_step(self, batch: WindowBatch, batch_idx: int) -> torch.Tensor:
        generator, draw = self.seeded(batch_idx), None
        if self.optim.samples:
            noise: Any = self.noise[batch.language]
            draw = noise.draw(self.optim.samples, generator, batch.place)
        loss = loss_of(self.model, batch, draw)
        if self.global_step % LOGGED == 0:
            self.log("train/loss", loss, sync_dist=True)
        return loss

    def validation_step(self, batch: WindowBatch, batch_idx: int) -> None:
        self.perplexity.update(self.nll(batch))
        self.log("val/perplexity", self.perplexity, on_epoch=True, on_step=False)

    def nll(self, batch: WindowBatch) -> torch.Tensor:
        """Exact negative log-likelihood of every word of a batch."""
        return exact_nll(self.model, batch)

    def configure_optimizers(self) -> Any:
        o = self.optim
        trainer: Any = self.trainer
        steps = int(trainer.estimated_stepping_batches)
        if isinstance(o, SGD):
            sgd = PaperSGD(self.groups(o), lr=o.lr, momentum=o.p_i, limit=o.limit)
            hold(self.model, sgd)
            return [sgd], [PaperSchedule(sgd, o.lr_decay, o.p_i, o.p_f, o.T)]
        if isinstance(o, AdaGrad):
            optimiser: torch.optim.Optimizer = RowAdaGrad(self.groups(o), lr=o.lr)
        else:
            assert isinstance(o, Adam)
            epochs = trainer.max_epochs or 1
            optimiser = adam(self.model, o, steps, epochs)
        hold(self.model, optimiser)
        interval = "step" if isinstance(o.lr_decay, str) else "epoch"
        return [optimiser], [{"scheduler": schedule_of(optimiser, o.lr_decay, steps), "interval": interval}]

    def groups(self, o: AdaGrad) -> list[dict]:
        """The parameters by role, with the L2 decay of each."""
        words, contexts = o.decay_words, o.decay_contexts
        decay = {"words": words, "gate": words, "shift": words, "attributes": words, "contexts": contexts}
        return parameter_groups(self.model, decay, rates(o))

    def on_save_checkpoint(self, checkpoint: dict) -> None:
        """All a later user needs to rebuild the model from this one file, as plain values."""
        checkpoint["atd"] = {
            "format": 1,
            "model": self.config,
            "vocabularies": [v.state() for v in self.vocabularies],
            "attributes": self.design.names,
            "design": self.design.state(),
            "tokeniser": self.tokeniser,
            "optim": asdict(self.optim),
            "usage": None if self.usage is None else state_of(self.usage),
        }


def language_model(
    config: Mapping[str, Any], data: Corpus, cfg: DictConfig, seed: int, optim: Optim | None = None
) -> LanguageModel:
    """A model of conf/model started for this corpus, ready to fit. The corpus is shuffled by the same seed.

    `optim` is conf/optim unless given. With `init_from` the corpus joins a trained model.
    """
    data.seed = seed
    vocabularies, design = data.vocabularies, data.encoded["train"].design
    old = load(cfg.init_from) if cfg.init_from else None
    if old is not None and cfg.freeze:
        design = keep_average(design, old.design)
    model = start(config, vocabularies, design, seed, old, cfg.freeze)
    start_at_vectors(model, config, vocabularies)
    usage = usage_with(data.encoded["train"], design, old) if len(vocabularies) == 1 else None
    optim, tokeniser = optim or optim_of(cfg), asdict(data.tokeniser)
    return LanguageModel(model, vocabularies, design, optim, dict(config), seed, tokeniser, usage)


def optim_of(cfg: DictConfig) -> Optim:
    """conf/optim as its type."""
    return typed(GROUPS["optim"][cfg.optim.name], cfg.optim, "optim")
