"""The LightningModule for next-word models: train on a sampled or exact softmax, validate on the exact one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import lightning
import torch
from torchmetrics import Metric

from atd.attributes import CentredTable
from atd.design import Design
from atd.lm import NextWordModel
from atd.models import build
from atd.noise import Noise
from atd.optim import PaperSchedule, PaperSGD, RowAdaGrad, parameter_groups, travel
from atd.vocabulary import Vocabulary
from atd.windows import WindowBatch
from tasks.engine.groups import GROUPS, SGD, AdaGrad, Adam, Optim
from tasks.engine.seeding import seed_step
from tasks.engine.settings import typed
from tasks.learning.models import start
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

    def update(self, nll_B: torch.Tensor) -> None:
        self.nll += nll_B.detach().double().sum()
        self.words += nll_B.numel()

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
    ):
        super().__init__()
        self.model = model
        self.vocabularies = list(vocabularies)
        self.design = design
        self.optim = optim
        self.config = config  # conf/model as plain values: a checkpoint rebuilds the model from it
        self.seed = seed
        self.tokeniser = tokeniser  # settings of the corpus's tokeniser, for texts that come later
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
        """Noise words and dropout are a function of seed and step alone: a resumed run draws the same ones.

        Processes draw the noise words that one would, each those of its part of the batch, and their own dropout.
        """
        accumulate = self.trainer.accumulate_grad_batches
        step = self.global_step * accumulate + batch_idx % accumulate
        seed = (self.seed * 1_000_003 + step) * 1024
        seed_step(seed + self.global_rank, self.device)
        return torch.Generator().manual_seed(seed)

    def training_step(self, batch: WindowBatch, batch_idx: int) -> torch.Tensor:
        generator = self.seeded(batch_idx)
        if self.optim.samples:
            noise: Any = self.noise[batch.language]
            draw = noise.draw(self.optim.samples, generator, batch.place)
            loss = self.model.sampled_nll(batch.context, batch.target, draw, batch.attribute, batch.language)
        else:
            loss = self.model.nll(batch.context, batch.target, batch.attribute, batch.language)
        loss = loss * batch.weight + self.model.shrinkage()
        if self.global_step % LOGGED == 0:
            self.log("train/loss", loss, sync_dist=True)
        return loss

    def validation_step(self, batch: WindowBatch, batch_idx: int) -> None:
        self.perplexity.update(self.nll(batch))
        self.log("val/perplexity", self.perplexity, on_epoch=True, on_step=False)

    def nll(self, batch: WindowBatch) -> torch.Tensor:
        """Exact negative log-likelihood of every word of a batch."""
        with torch.autocast(self.device.type, enabled=False):
            return self.model.nll(batch.context, batch.target, batch.attribute, batch.language, reduction="none")

    def configure_optimizers(self) -> Any:
        o = self.optim
        trainer: Any = self.trainer
        steps = int(trainer.estimated_stepping_batches)
        groups = parameter_groups(self.model, self.decay(steps), o.lr * o.lr_attributes)
        if isinstance(o, SGD):
            optimiser: torch.optim.Optimizer = PaperSGD(groups, lr=o.lr, momentum=o.p_i, limit=o.limit)
            schedule: torch.optim.lr_scheduler.LRScheduler = PaperSchedule(optimiser, o.lr_decay, o.p_i, o.p_f, o.T)
            return [optimiser], [schedule]
        if o.name == "adagrad":
            optimiser = RowAdaGrad(groups, lr=o.lr)
        else:
            optimiser = torch.optim.AdamW(groups, lr=o.lr, fused=True)
        if isinstance(o.lr_decay, str):
            linear = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, steps)
            return [optimiser], [{"scheduler": linear, "interval": "step"}]
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimiser, o.lr_decay)
        return [optimiser], [schedule]

    def decay(self, steps: int) -> dict[str, float]:
        """The weight decay of every role, for a training of so many steps.

        Adam's is a share of what a weight travels, so that one setting serves short and long trainings. The effects of
        attributes have a prior of their own (`shrinkage`).
        """
        o = self.optim
        if isinstance(o, AdaGrad):
            return {
                "words": o.decay_words,
                "factors": o.decay_words,
                "attributes": o.decay_words,
                "contexts": o.decay_contexts,
            }
        assert isinstance(o, Adam)
        share = o.decay / travel(o.lr, o.lr_decay, steps, self.trainer.max_epochs or 1)
        return {"words": share, "contexts": share}

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
        }


def language_model(
    config: Mapping[str, Any], data: Corpus, cfg: DictConfig, seed: int, optim: Optim | None = None
) -> LanguageModel:
    """A model of conf/model started for this corpus, ready to fit. The corpus is shuffled by the same seed.

    `optim` is conf/optim unless given.
    """
    torch.manual_seed(seed)
    data.seed = seed
    vocabularies = data.vocabularies
    model = build(config, [len(v) for v in vocabularies], len(data.attributes))
    start(model, config, vocabularies)
    design = data.encoded["train"].design
    if isinstance(table := getattr(model, "attributes", None), CentredTable):
        table.centre(torch.from_numpy(design.words_A), torch.from_numpy(design.term_A))
    return LanguageModel(
        model, vocabularies, design, optim or optim_of(cfg), dict(config), seed, asdict(data.tokeniser)
    )


def optim_of(cfg: DictConfig) -> Optim:
    """conf/optim as its type."""
    return typed(GROUPS["optim"][cfg.optim.name], cfg.optim, "optim")
