"""LightningModule of the supervised encoders: x of every phrase, and a softmax on x for its label.

An encoder follows the parse (`tree`) or pools context products (`context`); batches bring its `inputs`.
"""

from __future__ import annotations

from typing import cast

import lightning
import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel

from atd.encoder import ContextEncoder, TreeEncoder
from datamodules.treebank import Treebank
from datamodules.trees import Forest, Padded, PhraseLoader, TreeLoader
from tasks.engine.seeding import seed_step
from tasks.sentiment.scores import accuracies
from tasks.sentiment.settings import Context, Tree

AT_ONCE = 128  # sentences of a batch when nothing is learned


class Classifier(nn.Module):
    """Two softmaxes on x: five labels, and positive against negative."""

    def __init__(self, vectors_VK: torch.Tensor, settings: Tree | Context):
        super().__init__()
        s = settings
        self.encoder: TreeEncoder | ContextEncoder
        if isinstance(s, Tree):
            self.encoder = TreeEncoder(vectors_VK, s.D, s.F, s.dropout, s.word_dropout)
        else:
            self.encoder = ContextEncoder(vectors_VK, s.D, s.context, s.F, s.dropout, s.word_dropout)
        self.fine = nn.Linear(s.D, 5)
        self.polar = nn.Linear(s.D, 2)
        self.dropout = s.dropout

    def forward(self, batch: Forest | Padded) -> tuple[torch.Tensor, torch.Tensor]:
        x = functional.dropout(self.encoder(*batch.inputs), self.dropout, self.training)
        return self.fine(x), self.polar(x)

    def sentences(self, batch: Forest | Padded) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-probabilities of whole sentences, and their x."""
        x = self.encoder(*batch.inputs)[batch.root]
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


def running_mean(decay: float):
    """An exponential mean of the weights that forgets their start: its memory grows with the steps up to `decay`."""

    @torch.no_grad()
    def update(averaged: list[torch.Tensor], current: list[torch.Tensor], seen) -> None:
        torch._foreach_lerp_(averaged, current, 1 - min(decay, (1 + float(seen)) / (10 + float(seen))))

    return update


class Sentiment(lightning.LightningModule):
    """Every labelled phrase of the training sentences is an example; those of val choose the epoch."""

    def __init__(self, vectors_VK: torch.Tensor, settings: Tree | Context, steps: int, seed: int):
        super().__init__()
        self.settings, self.steps, self.seed = settings, steps, seed
        torch.manual_seed(seed)
        self.net = Classifier(vectors_VK, settings)
        self.mean = AveragedModel(self.net, multi_avg_fn=running_mean(settings.average))
        self.seen: list[tuple[torch.Tensor, torch.Tensor]] = []

    def on_train_batch_start(self, batch, batch_idx: int) -> None:
        seed_step(self.seed * 1_000_003 + self.global_step, self.device)

    @property
    def averaged(self) -> Classifier:
        return cast("Classifier", self.mean.module)

    def training_step(self, batch: Forest | Padded, batch_idx: int) -> torch.Tensor:
        fine, polar = self.net(batch)
        side = batch.label != 2
        weight = torch.ones_like(fine[:, 0])
        weight[batch.root] = self.settings.sentence
        loss = (weight * functional.cross_entropy(fine, batch.label, reduction="none")).sum() / weight.sum()
        if self.settings.polarity:
            target = (batch.label[side] > 2).long()
            loss = loss + self.settings.polarity * functional.cross_entropy(polar[side], target)
        return loss

    def on_train_batch_end(self, outputs, batch, batch_idx: int) -> None:
        self.mean.update_parameters(self.net)

    def validation_step(self, batch: Forest | Padded, batch_idx: int) -> None:
        self.seen.append((self.averaged.sentences(batch)[0], batch.label[batch.root]))

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
    def predict(self, loader) -> tuple[np.ndarray, np.ndarray]:
        """Log-probabilities (n×5) and x (n×D) of all sentences of a loader, in its order."""
        self.mean.eval()
        parts = [self.averaged.sentences(batch) for batch in loader]
        logp, x = (torch.cat(part).numpy() for part in zip(*parts, strict=True))
        return logp, x


class SentimentData(lightning.LightningDataModule):
    """Trees for the tree encoder, padded phrases for the context encoder."""

    def __init__(self, treebank: Treebank, settings: Tree | Context, seed: int):
        super().__init__()
        self.treebank = treebank
        self.settings = settings
        self.seed = seed

    def setup(self, stage: str | None = None) -> None:
        self.treebank.setup()

    def train_dataloader(self) -> TreeLoader | PhraseLoader:
        size = self.settings.batch_size
        if isinstance(self.settings, Tree):
            return TreeLoader(self.treebank.trees("train"), size, self.seed)
        return PhraseLoader(self.treebank.phrases(), size, self.seed)

    def val_dataloader(self) -> TreeLoader | PhraseLoader:
        return self.sentences("val")

    def sentences(self, split: str) -> TreeLoader | PhraseLoader:
        """The sentences of a split, in order."""
        if isinstance(self.settings, Tree):
            return TreeLoader(self.treebank.trees(split), AT_ONCE, shuffle=False)
        return PhraseLoader(self.treebank.sentences(split), AT_ONCE, shuffle=False)
