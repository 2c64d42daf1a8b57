"""Inference of attribute vectors under Lightning: batches of texts in, vectors and their certificates out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import lightning
import torch

from atd.inference import infer
from atd.inference.solvers import Inferred
from atd.lm import MultiplicativeLM
from tasks.engine.quiet import quieten


def options(config: Mapping[str, Any], seed: int = 0) -> dict[str, Any]:
    """conf/inference as keyword arguments of `atd.inference.infer.infer`."""
    settings = dict(config)
    return {"method": settings.pop("name"), "seed": seed, **settings}


class TextBatches:
    """Texts in batches of `size`: (tokens, offsets, prior rows). All there is to know of a text is in its batch."""

    def __init__(self, tokens: torch.Tensor, offsets: torch.Tensor, prior: torch.Tensor | None, size: int):
        self.tokens, self.offsets, self.prior, self.size = tokens, offsets, prior, size

    def __len__(self) -> int:
        return -(-(len(self.offsets) - 1) // self.size)

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]]:
        for i in range(0, len(self.offsets) - 1, self.size):
            bounds = self.offsets[i : i + self.size + 1]
            prior = self.prior
            if prior is not None and prior.dim() == 2:
                prior = prior[i : i + self.size]
            yield self.tokens[bounds[0] : bounds[-1]], bounds - bounds[0], prior


class Inference(lightning.LightningModule):
    """The frozen model as a predictor: `trainer.predict(Inference(model, …), TextBatches(…))`."""

    def __init__(self, model: MultiplicativeLM, config: Mapping[str, Any], seed: int = 0, language: int = 0):
        super().__init__()
        self.model, self.settings, self.language = model, options(config, seed), language

    def predict_step(self, batch, batch_idx: int) -> Inferred:
        tokens, offsets, prior = batch
        return infer(self.model, tokens, offsets, prior=prior, language=self.language, **self.settings)


def predict(
    model: MultiplicativeLM,
    tokens: torch.Tensor,
    offsets: torch.Tensor,
    config: Mapping[str, Any],
    prior: torch.Tensor | None = None,
    seed: int = 0,
    size: int = 4096,
    **trainer: Any,
) -> Inferred:
    """All texts through `trainer.predict`, on whatever device the trainer finds."""
    quieten()
    quiet: dict[str, Any] = {"logger": False, "enable_checkpointing": False, "enable_model_summary": False}
    texts = TextBatches(tokens, offsets, prior, size)
    parts: Any = lightning.Trainer(**quiet, **trainer).predict(Inference(model, config, seed), texts)
    return Inferred.join(parts)
