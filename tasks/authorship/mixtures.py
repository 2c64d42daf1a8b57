"""Several vectors per attribute: bloggers of one kind who do not all write alike.

The paper proposes it and does not try it. T words, J components.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from omegaconf import DictConfig, OmegaConf

from atd.mixture_lm import MixtureLM
from tasks.engine.result import Result
from tasks.learning.comparison import compare_models
from tasks.learning.corpora import open_corpus

if TYPE_CHECKING:
    from atd.windows import WindowLoader
    from tasks.authorship.settings import Settings

# A mixture is built on the paper's model: its options, unless model=paper has others.
PAPER = {"activation": "relu", "gate_bias": 0.0, "dropout": 0.0, "additive": False, "sparse": False}


def sizes(cfg: DictConfig) -> dict[str, Any]:
    """What a mixture takes over from conf/model."""
    taken = ("K", "F", "D", "context", "vectors", *(PAPER if cfg.model.name == "paper" else ()))
    return {"name": "mixture", **{key: cfg.model[key] for key in taken}}


def mixtures(result: Result, cfg: DictConfig, task: Settings, out: Path) -> None:
    """Held-out perplexity with 1 … J vectors per attribute, of words and of whole posts.

    The softmax is exact, over the commonest words: on a sampled one two components ended at perplexity 452 where one
    had 152. Presumably the component whose normaliser the sample happens to miss is paid for it.
    """
    data = open_corpus(cfg, posts=task.variant_posts, max_size=task.mixture_words)
    exact = OmegaConf.merge(cfg, {"optim": {"samples": 0}})
    assert isinstance(exact, DictConfig)
    configs = {f"mixture_{j}": {**PAPER, **sizes(cfg), "components": j} for j in task.components}
    models = compare_models(exact, data, out, configs)
    rows = []
    for components in task.components:
        model = models.trained(f"mixture_{components}").model
        assert isinstance(model, MixtureLM)
        words, posts = mixture_perplexities(model, data.test_dataloader(), data.encoded["test"].lengths)
        used = components_in_use(model)
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


def components_in_use(model: MixtureLM) -> float:
    weights = model.weights().detach()
    return float(torch.exp(-(weights * weights.log()).sum(1)).mean())


@torch.inference_mode()
def mixture_perplexities(model: MixtureLM, loader: WindowLoader, lengths: np.ndarray) -> tuple[float, float]:
    """exp of the mean −log Σ_j π_j p_j(w) over words, and of −log Σ_j π_j Π_t p_j(w_t) over posts, per word."""
    batches = [(model.component_nll(b.context, b.target, b.ids).double(), b.ids) for b in loader]
    nll_TJ = torch.cat([nll for nll, _ in batches])
    attribute = torch.cat([a for _, a in batches])
    log_pi = model.u.log_softmax(1).double()
    words = -(log_pi[attribute] - nll_TJ).logsumexp(1)
    length = torch.from_numpy(lengths[lengths > 0])
    post = torch.repeat_interleave(torch.arange(len(length)), length)
    total = torch.zeros(len(length), nll_TJ.shape[1], dtype=torch.float64).index_add_(0, post, nll_TJ)
    first = torch.cumsum(length, 0) - length
    posts = -(log_pi[attribute[first]] - total).logsumexp(1)
    return float(words.mean().exp()), float((posts.sum() / len(words)).exp())
