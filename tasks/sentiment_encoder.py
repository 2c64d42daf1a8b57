"""LightningModule of the supervised tree encoder: x of every phrase, and a softmax on x for its label."""

from __future__ import annotations

from dataclasses import dataclass

import lightning
import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from atd.encoder import TreeEncoder
from datamodules.treebank import Forest, Treebank, TreeLoader
from tasks.sentiment_scores import accuracies


@dataclass(frozen=True)
class EncoderSettings:
    """conf/task/sentiment.yaml, `encoder`."""

    D: int
    F: int
    dropout: float
    word_dropout: float
    lr: float
    word_lr: float  # relative to lr
    decay: float
    batch_size: int
    epochs: int
    polarity: float  # weight of the positive/negative loss beside the five-way one
    average: float  # decay of the running mean of the weights that is evaluated


class TreeClassifier(nn.Module):
    """Two softmaxes on x: five labels, and positive against negative."""

    def __init__(self, vectors_VK: torch.Tensor, settings: EncoderSettings):
        super().__init__()
        s = settings
        self.encoder = TreeEncoder(vectors_VK, s.D, s.F, s.dropout, s.word_dropout)
        self.fine = nn.Linear(s.D, 5)
        self.polar = nn.Linear(s.D, 2)
        self.dropout = s.dropout

    def forward(self, trees: Forest) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.encoder(trees.word, trees.left, trees.right, trees.levels)
        x = functional.dropout(x, self.dropout, self.training)
        return self.fine(x), self.polar(x)

    def sentences(self, trees: Forest) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-probabilities of whole sentences, and their x."""
        x = self.encoder(trees.word, trees.left, trees.right, trees.levels)[trees.root]
        return joint(self.fine(x), self.polar(x)), x


def joint(fine: torch.Tensor, polar: torch.Tensor) -> torch.Tensor:
    """One five-way distribution from both softmaxes: within the polar labels, the mean of the two opinions.

    The mass of "neutral" stays; the share of positive in the rest becomes the mean of what each softmax says.
    """
    p = fine.softmax(1)
    negative, positive = p[:, :2].sum(1), p[:, 3:].sum(1)
    share = (positive / (negative + positive) + polar.softmax(1)[:, 1]) / 2
    rest = negative + positive
    scale = torch.stack([rest * (1 - share) / negative, rest * share / positive], 1)
    return torch.cat([p[:, :2] * scale[:, :1], p[:, 2:3], p[:, 3:] * scale[:, 1:]], 1).clamp(min=1e-12).log()


class TreeSentiment(lightning.LightningModule):
    """Every labelled node of the training trees is an example; dev sentences choose the epoch."""

    def __init__(self, bank: Treebank, settings: EncoderSettings, steps: int, seed: int):
        super().__init__()
        self.settings, self.steps, self.seed = settings, steps, seed
        torch.manual_seed(seed)
        self.net = TreeClassifier(bank.vectors, settings)
        self.mean = AveragedModel(self.net, multi_avg_fn=get_ema_multi_avg_fn(settings.average))
        self.seen: list[tuple[torch.Tensor, torch.Tensor]] = []

    def on_train_batch_start(self, batch, batch_idx: int) -> None:
        torch.manual_seed(self.seed * 1_000_003 + self.global_step)

    def training_step(self, batch: Forest, batch_idx: int) -> torch.Tensor:
        fine, polar = self.net(batch)
        side = batch.label != 2
        loss = functional.cross_entropy(fine, batch.label)
        if self.settings.polarity:
            target = (batch.label[side] > 2).long()
            loss = loss + self.settings.polarity * functional.cross_entropy(polar[side], target)
        return loss

    def on_train_batch_end(self, outputs, batch, batch_idx: int) -> None:
        self.mean.update_parameters(self.net)

    def validation_step(self, batch: Forest, batch_idx: int) -> None:
        self.seen.append((self.mean.module.sentences(batch)[0], batch.label[batch.root]))

    def on_validation_epoch_end(self) -> None:
        logp, label = (torch.cat(part).cpu().numpy() for part in zip(*self.seen, strict=True))
        self.seen.clear()
        fine, binary = accuracies(logp, label)
        self.log_dict({"val/fine": fine, "val/binary": binary, "val/both": fine + binary})

    def configure_optimizers(self):
        s = self.settings
        words = [self.net.encoder.E]
        others = [p for p in self.net.parameters() if p is not self.net.encoder.E]
        optimiser = torch.optim.AdamW(
            [
                {"params": words, "lr": s.lr * s.word_lr, "weight_decay": 0.0},
                {"params": others, "lr": s.lr, "weight_decay": s.decay},
            ],
            fused=True,
        )
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimiser, lambda t: min(1.0, (t + 1) / 100) * max(0.02, 1 - t / self.steps)
        )
        return {"optimizer": optimiser, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def configure_gradient_clipping(self, optimizer, gradient_clip_val=None, gradient_clip_algorithm=None) -> None:
        nn.utils.clip_grad_norm_(self.net.parameters(), 5.0)

    @torch.no_grad()
    def predict(self, trees) -> tuple[np.ndarray, np.ndarray]:
        """Log-probabilities (n×5) and x (n×D) of all sentences of a split."""
        self.mean.eval()
        parts = [self.mean.module.sentences(batch) for batch in TreeLoader(trees, 128, shuffle=False)]
        logp, x = (torch.cat(part).numpy() for part in zip(*parts, strict=True))
        return logp, x


class TreeData(lightning.LightningDataModule):
    def __init__(self, bank: Treebank, batch_size: int, seed: int):
        super().__init__()
        self.bank, self.batch_size, self.seed = bank, batch_size, seed

    def train_dataloader(self) -> TreeLoader:
        return TreeLoader(self.bank.trees["train"], self.batch_size, self.seed)

    def val_dataloader(self) -> TreeLoader:
        return TreeLoader(self.bank.trees["dev"], 128, shuffle=False)
