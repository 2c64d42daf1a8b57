"""Measures that tasks share: exact perplexities on held-out text, and how alike attribute vectors are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from atd.ngram_mixture import AttributeKneserNey
from tasks.learning.language_model import LanguageModel, Perplexity

if TYPE_CHECKING:
    from atd.encoded import EncodedCorpus
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
        "perplexity_dev": perplexity(module, data.loader("val")),
    }


@torch.inference_mode()
def document_losses(module: LanguageModel, data: Corpus, split: str) -> np.ndarray:
    """The summed exact nll of each document of a part, in their order."""
    module.eval()
    loader = data.loader(split)
    found: dict[int, list[torch.Tensor]] = {language: [] for language in loader.group_ids}
    for batch in loader:
        found[batch.language].append(module.nll(batch))
    texts = data.encoded[split]
    losses = np.empty(len(texts.tokens))
    for language, part in zip(loader.group_ids, loader.parts, strict=True):
        token, _, _ = part.locate(np.arange(part.n))
        losses[token] = torch.cat(found[language]).double().cpu().numpy()
    return np.bincount(texts.owner, losses, len(texts))


def kneser_ney_losses(data: Corpus, order: int = 5, attributes: bool = True) -> dict[str, dict[str, np.ndarray]]:
    """By row and part (val, test): the summed nll of each document, of the words that the other models predict.

    The row `kneser-ney` is one n-gram model of all text; `kneser-ney-attributes` mixes it with one of each attribute's
    own text, their shares found on the validation part.
    """
    V, A = max(len(words) for words in data.vocabularies), len(data.attributes)
    model = AttributeKneserNey(V, A, order)
    train, val = (examples(data.encoded[split], order) for split in ("train", "val"))
    if attributes:
        model.fit(*train).tune(*val)
    else:
        model.all.fit(*train[:2])
    rows: dict[str, dict[str, np.ndarray]] = {}
    for split in ("val", "test"):
        texts = data.encoded[split]
        context, target, attribute = examples(texts, order)
        found = {"kneser-ney": model.all.log_probabilities(context, target)}
        if attributes:
            found["kneser-ney-attributes"] = model.log_probabilities(context, target, attribute)
        for row, log_p in found.items():
            rows.setdefault(row, {})[split] = np.bincount(texts.owner, -log_p, len(texts))
    return rows


def examples(texts: EncodedCorpus, order: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every word of some texts for n-grams: (the words before it, its id, its attribute or attributes)."""
    attribute = texts.attributes if texts.per_token else texts.attributes[texts.owner]
    return texts.windows(order - 1), texts.tokens.astype(np.int64), attribute


def perplexities_of(losses: dict[str, np.ndarray], data: Corpus) -> dict[str, float]:
    """From the summed nll of each document of the test and the validation part, named as in metrics.json."""
    names = {"perplexity": "test", "perplexity_dev": "val"}
    return {name: perplexity_of(losses[split], data, split) for name, split in names.items()}


def perplexity_of(losses: np.ndarray, data: Corpus, split: str) -> float:
    return float(np.exp(losses.sum() / len(data.encoded[split].tokens)))
