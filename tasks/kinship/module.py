"""The LightningModule of the model of meanings: exact softmax over all units, Adam."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import lightning
import torch

from atd.meaning import MeaningModel, letters
from atd.optim import travel
from atd.training import schedule_of
from tasks.engine.groups import Adam
from tasks.kinship.start import model_of
from tasks.learning.language_model import Perplexity
from tasks.learning.training import LOGGED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from atd.meaning import Said
    from datamodules.verses import Verses

BETAS = (0.9, 0.99)
SMALL = 1e-5  # of weights that start at zero


class Meanings(lightning.LightningModule):
    """`gated=False` holds all x at 0: every language turns meanings into forms alike, which is a control."""

    def __init__(self, model: MeaningModel, optim: Adam, gated: bool = True):
        super().__init__()
        self.model = model
        self.optim = optim
        self.perplexity = Perplexity()
        model.x.requires_grad_(gated)

    def nll(self, batch: Sequence[Said]) -> torch.Tensor:
        return self.model.nll(batch)

    def training_step(self, batch: Sequence[Said], batch_idx: int) -> torch.Tensor:
        loss = self.nll(batch) / units_of(batch)
        if self.global_step % LOGGED == 0:
            self.log("train/loss", loss, sync_dist=True, batch_size=len(batch))
        return loss

    def validation_step(self, batch: Sequence[Said], batch_idx: int) -> None:
        self.perplexity.update(self.nll(batch), units_of(batch))
        self.log("val/perplexity", self.perplexity, on_epoch=True, on_step=False, batch_size=len(batch))

    def configure_optimizers(self) -> Any:
        o, trainer = self.optim, self.trainer
        steps = int(trainer.estimated_stepping_batches)
        groups = []
        for name, weights in self.model.named_parameters():
            lr = o.lr * max(size(weights), SMALL) * (o.lr_attributes if name == "x" else 1.0)
            decay = o.decay / travel(lr, o.lr_decay, steps, trainer.max_epochs or 1)
            groups.append({"params": [weights], "lr": lr, "weight_decay": decay})
        optimiser = torch.optim.AdamW(groups, betas=BETAS)
        interval = "step" if isinstance(o.lr_decay, str) else "epoch"
        return [optimiser], [{"scheduler": schedule_of(optimiser, o.lr_decay, steps), "interval": interval}]


def size(weights: torch.Tensor) -> float:
    """How large a weight is: steps are relative to where training starts."""
    return float(weights.detach().square().mean().sqrt())


def units_of(batch: Sequence[Said]) -> float:
    return float(sum(said.count_BV.sum() for said in batch))


def meanings(data: Verses, config: Mapping[str, Any], optim: Adam, gated: bool) -> Meanings:
    """A model for these verses, ready to fit."""
    model = model_of(data, config["K"], config["D"])
    if not gated:
        torch.nn.init.zeros_(model.x)
    return Meanings(model, optim, gated)


@torch.inference_mode()
def perplexity(module: Meanings, data: Verses, split: str) -> float:
    """Exact, on held-out verses."""
    found = Perplexity()
    module.eval()
    for batch in data.batches_of(split):
        found.update(module.nll(batch), units_of(batch))
    return float(found.compute())


@torch.inference_mode()
def letters_perplexity(data: Verses, split: str) -> float:
    """Of the letters of each language alone, whatever is said."""
    log_q_AV = letters(data.letter_counts())
    found = Perplexity()
    for batch in data.batches_of(split):
        for said in batch:
            log_q_BV = log_q_AV[said.letters_B]
            nll = said.count_BV.sum(1) @ log_q_BV.logsumexp(1) - (said.count_BV * log_q_BV).sum()
            found.update(nll, float(said.count_BV.sum()))
    return float(found.compute())
