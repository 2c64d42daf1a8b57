"""What the paper does not have: tuples never seen in training, and several vectors per attribute.

B batch, D attribute dim, J components.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from omegaconf import OmegaConf

from atd.mixture_lm import MixtureLM
from tasks.engine.result import Result
from tasks.learning.corpora import open_corpus
from tasks.learning.evaluation import perplexity
from tasks.learning.language_model import LanguageModel, Perplexity, language_model, lbl_of
from tasks.learning.training import fit

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from atd.windows import WindowLoader


def composition(result: Result, cfg: DictConfig, out: Path) -> None:
    """x = gender + age + industry vector against one vector per tuple, on tuples left out of training.

    A tuple without a vector takes the mean of all vectors; the log-bilinear model needs none.
    """
    left = {"leave_out": cfg.task.leave_out, "posts": cfg.task.variant_posts}
    corpora = {"tuples": open_corpus(cfg, **left), "composed": open_corpus(cfg, compose=True, **left)}
    rows = {}
    for name, data in corpora.items():
        module = language_model(dict(cfg.model), data, cfg)
        fit(module, data, cfg, out, name)
        mean = module.model.vectors().mean(0) if name == "tuples" else None
        rows[name] = {
            "perplexity": perplexity(module, data.test_dataloader()),
            "perplexity_unseen": unseen_perplexity(module, data.loader("unseen"), mean),
        }
    data = corpora["tuples"]
    module = language_model(lbl_of(cfg), data, cfg)
    fit(module, data, cfg, out, "lbl_left_out")
    rows["lbl_left_out"] = {
        "perplexity": perplexity(module, data.test_dataloader()),
        "perplexity_unseen": unseen_perplexity(module, data.loader("unseen"), torch.zeros(1)),
    }
    result.rows |= rows
    result.table(
        "Tuples left out of training",
        ["", "seen tuples, held-out posts", "unseen tuples"],
        [[name, row["perplexity"], row["perplexity_unseen"]] for name, row in rows.items()],
        f"Exact perplexity. {cfg.task.leave_out} tuples were kept from training. composed: x is the sum of a gender, "
        "an age and an industry vector, so an unseen tuple has one; tuples: an unseen tuple takes the mean vector.",
    )
    result.rows.setdefault("atd", rows["tuples"])


@torch.inference_mode()
def unseen_perplexity(module: LanguageModel, loader: WindowLoader, x_D: torch.Tensor | None) -> float:
    """Exact perplexity under one vector for all texts, or with None under each text's own."""
    metric = Perplexity()
    module.eval()
    for batch in loader:
        x = batch.attribute if x_D is None else x_D.detach().expand(len(batch), -1)
        metric.update(module.nll(replace(batch, attribute=x)))
    return float(metric.compute())


def mixture(result: Result, cfg: DictConfig, out: Path) -> None:
    """Held-out perplexity with 1 … J vectors per attribute, of words and of whole posts.

    The softmax is exact, over the commonest words: on a sampled one two components ended at perplexity 452 where one
    had 152. Presumably the component whose normaliser the sample happens to miss is paid for it.
    """
    data = open_corpus(cfg, posts=cfg.task.variant_posts, max_size=cfg.task.mixture_words)
    cfg = OmegaConf.merge(cfg, {"optim": {"samples": 0}})
    rows = []
    for components in cfg.task.components:
        config = dict(cfg.model) | {"name": "mixture", "components": components}
        module = language_model(config, data, cfg)
        fit(module, data, cfg, out, f"mixture_{components}")
        words, posts = mixture_perplexities(module, data.test_dataloader(), data.encoded["test"].lengths)
        weights = module.model.weights().detach()
        used = float(torch.exp(-(weights * weights.log()).sum(1)).mean())
        rows.append([components, words, posts, used])
        result.rows[f"mixture-{components}"] = {"perplexity": words, "perplexity_of_posts": posts, "used": used}
    result.rows.setdefault("atd", {"perplexity": rows[0][1]})
    result.table(
        "Several vectors per attribute",
        ["vectors", "perplexity", "perplexity, one component per post", "components in use"],
        rows,
        "Words: every word may come from any component. Posts: one component writes the whole post, and what was read "
        "of it tells which. In use: exp of the entropy of the weights, averaged over attributes.",
    )


@torch.inference_mode()
def mixture_perplexities(module: LanguageModel, loader: WindowLoader, lengths: np.ndarray) -> tuple[float, float]:
    """exp of the mean −log Σ_j π_j p_j(w) over words, and of −log Σ_j π_j Π_t p_j(w_t) over posts, per word."""
    model = module.model
    assert isinstance(model, MixtureLM)
    module.eval()
    batches = [(model.component_nll(b.context, b.target, b.attribute).double(), b.attribute) for b in loader]
    nll_TJ, attribute = torch.cat([n for n, _ in batches]), torch.cat([a for _, a in batches])
    log_pi = model.u.log_softmax(1).double()
    words = -(log_pi[attribute] - nll_TJ).logsumexp(1)
    length = torch.from_numpy(lengths[lengths > 0])
    post = torch.repeat_interleave(torch.arange(len(length)), length)
    total = torch.zeros(len(length), nll_TJ.shape[1], dtype=torch.float64).index_add_(0, post, nll_TJ)
    first = torch.cumsum(length, 0) - length
    posts = -(log_pi[attribute[first]] - total).logsumexp(1)
    return float(words.mean().exp()), float((posts.sum() / len(words)).exp())
