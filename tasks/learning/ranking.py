"""The LightningModule for sentence ranking: train on pairs, validate by retrieval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import lightning
import torch
from torch import Tensor

from atd.contrast import LOSSES, hardest, hinge, precision_at_1, rotations, softmax
from atd.errors import AtdError
from atd.optim import RowAdaGrad
from atd.ranking import RankingModel
from atd.vocabulary import Vocabulary
from datamodules.pairs import PairBatch
from tasks.engine.seeding import seed_step


@dataclass(frozen=True)
class Objective:
    """What a pair is compared with and how. `contrastive` sentences each; `temperature` is for softmax only."""

    loss: str = "hinge"
    alpha: float = 1.0
    contrastive: int = 5
    temperature: float = 0.1

    def __post_init__(self) -> None:
        if self.loss not in LOSSES:
            raise AtdError(f"task.objective.loss={self.loss}: must be one of {', '.join(LOSSES)}")

    def __call__(self, a_BK: Tensor, b_BK: Tensor, c_BnK: Tensor | None = None) -> Tensor:
        """`c_BnK`: contrastive sentences drawn for the pairs; without them the hinge turns the batch."""
        if self.loss == "softmax":
            return softmax(a_BK, b_BK, self.temperature)
        if self.loss == "hardest":
            return hardest(a_BK, b_BK, self.contrastive, self.alpha)
        return hinge(a_BK, b_BK, rotations(b_BK, self.contrastive) if c_BnK is None else c_BnK, self.alpha)


class Ranking(lightning.LightningModule):
    """Row-wise AdaGrad on all tables, its step falling linearly to zero over `steps`."""

    def __init__(
        self,
        model: RankingModel,
        vocabularies: Sequence[Vocabulary],
        objective: Objective,
        config: dict,
        steps: int,
        lr: float = 0.1,
        lr_factors: float = 0.05,
        weight_decay: float = 0.0,
        seed: int = 0,
    ):
        super().__init__()
        self.model, self.vocabularies, self.objective, self.config = model, list(vocabularies), objective, config
        self.steps, self.lr, self.lr_factors, self.weight_decay, self.seed = steps, lr, lr_factors, weight_decay, seed

    def training_step(self, batch: PairBatch, batch_idx: int) -> Tensor:
        seed_step((self.seed * 1_000_003 + self.global_step) * 1024 + self.global_rank, self.device)
        a_BK, b_BK = self.model(batch.bags, batch.languages, batch.size)
        drawn = b_BK[batch.size :]
        c_BnK = drawn.view(batch.size, -1, drawn.shape[1]) if len(drawn) else None
        loss = self.objective(a_BK, b_BK[: batch.size], c_BnK)
        if self.global_step % self.trainer.log_every_n_steps == 0:
            self.log("train/loss", loss, batch_size=batch.size)
        return loss

    def validation_step(self, batch: PairBatch, batch_idx: int) -> None:
        a_BK, b_BK = self.model(batch.bags, batch.languages, batch.size)
        both = (precision_at_1(a_BK, b_BK) + precision_at_1(b_BK, a_BK)) / 2
        self.log("val/retrieval", both, batch_size=batch.size)

    def configure_optimizers(self):
        tables = [p for p in (self.model.W_fv, self.model.W_fg) if p is not None]
        factors = [self.model.W_fk, self.model.W_fd, self.model.L]
        groups = [{"params": tables, "lr": self.lr}, {"params": factors, "lr": self.lr_factors}]
        optimiser = RowAdaGrad(groups, weight_decay=self.weight_decay)
        fall = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: max(0.0, 1 - step / self.steps))
        return [optimiser], [{"scheduler": fall, "interval": "step"}]

    def on_save_checkpoint(self, checkpoint: dict) -> None:
        """All that is needed to rebuild the model from this one file, as plain values."""
        checkpoint["atd"] = {
            "format": 1,
            "model": self.config,
            "vocabularies": [v.state() for v in self.vocabularies],
            "attributes": self.model.languages,
            "objective": asdict(self.objective),
        }
