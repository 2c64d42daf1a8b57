"""Measures that tasks share: exact perplexities on held-out text, and how alike attribute vectors are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from atd.ngram import Trigram
from tasks.learning.language_model import LanguageModel, Perplexity

if TYPE_CHECKING:
    from datamodules.corpus import Corpus


@torch.inference_mode()
def perplexity(module: LanguageModel, loader) -> float:
    metric = Perplexity()
    module.eval()
    for batch in loader:
        metric.update(module.nll(batch))
    return float(metric.compute())


def perplexities(module: LanguageModel, data: Corpus) -> dict[str, float]:
    """Of the test and the validation part, named as in metrics.json."""
    return {
        "perplexity": perplexity(module, data.test_dataloader()),
        "perplexity_dev": perplexity(module, data.val_dataloader()),
    }


def trigram_perplexities(data: Corpus) -> dict[str, float]:
    """The count baseline on the same words, its one setting tuned on the validation part."""
    parts = {}
    loaders = {"train": data.train_dataloader(), "val": data.val_dataloader(), "test": data.test_dataloader()}
    for split, loader in loaders.items():
        batches = [(batch.context[:, -2:].numpy(), batch.target.numpy()) for batch in loader]
        parts[split] = tuple(np.concatenate(column) for column in zip(*batches, strict=True))
    model = Trigram(len(data.vocabulary)).fit(*parts["train"]).tune(*parts["val"])
    return {"perplexity": model.perplexity(*parts["test"]), "perplexity_dev": model.perplexity(*parts["val"])}
